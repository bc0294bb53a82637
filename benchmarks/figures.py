"""`python -m benchmarks.figures`: the figures of the documentation, drawn anew by the commands their pages name."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
# a page says "(slotwise simulate ...):" and, below it, shows the figure which that command draws
COMMAND = re.compile(r"\((slotwise simulate[^)]*)\):\s*!\[[^]]*\]\(\.\./figures/([^)]+)\)")


def commands() -> dict[str, str]:
    """Figure -> command, as the pages of the policies have them."""
    found = [
        match.groups()
        for page in sorted((DOCS / "policies").glob("*.md"))
        for match in COMMAND.finditer(page.read_text())
    ]
    return {figure: command for command, figure in found}


def main() -> None:
    (DOCS / "figures").mkdir(parents=True, exist_ok=True)
    for figure, command in commands().items():
        print(figure, "<-", command)
        words = [*shlex.split(command)[1:], "--chart", str(DOCS / "figures" / figure), "--quiet"]
        subprocess.run([sys.executable, "-m", "slotwise", *words], check=True)


if __name__ == "__main__":
    main()
