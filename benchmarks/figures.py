"""`python -m benchmarks.figures`: regenerate the figures of the documentation with the commands on their pages."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
# a page has "(slotwise simulate ...):" and, below it, the figure that this command draws
COMMAND = re.compile(r"\((slotwise simulate[^)]*)\):\s*!\[[^]]*\]\(\.\./figures/([^)]+)\)")


def commands() -> dict[str, str]:
    """The command of each figure, from the pages of the policies."""
    pairs = [
        match.groups()
        for page in sorted((DOCS / "policies").glob("*.md"))
        for match in COMMAND.finditer(page.read_text())
    ]
    return {figure: command for command, figure in pairs}


def main() -> None:
    (DOCS / "figures").mkdir(parents=True, exist_ok=True)
    for figure, command in commands().items():
        print(figure, "<-", command)
        arguments = [*shlex.split(command)[1:], "--chart", str(DOCS / "figures" / figure), "--quiet"]
        subprocess.run([sys.executable, "-m", "slotwise", *arguments], check=True)


if __name__ == "__main__":
    main()
