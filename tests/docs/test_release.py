"""The version, the changelog and the citation agree."""

import datetime
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotwise.version import __version__

ROOT = Path(__file__).parent.parent.parent
DEVELOPMENT_TOOLS = {"ruff", "mypy", "lint-imports"}


def sections() -> list[tuple[str, str]]:
    """The versions of the changelog with their dates, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text()
    return re.findall(r"^## \[(.+?)\](?: - (.+))?$", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def citation() -> Any:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_changelog_has_a_section_for_what_comes_and_for_this_version() -> None:
    (unreleased, no_date), (version, date) = sections()[:2]
    assert (unreleased, no_date) == ("Unreleased", "")
    assert version == __version__
    assert datetime.date.fromisoformat(date)


def test_the_citation_has_the_version_and_its_date(citation: Any) -> None:
    assert citation["version"] == __version__
    assert (__version__, citation["date-released"].isoformat()) in sections()


def test_the_citation_has_what_its_format_requires_and_names_the_paper(citation: Any) -> None:
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    (paper,) = citation["references"]
    assert paper["title"] == "Position-Based Multiple-Play Bandits with Thompson Sampling"
    assert [author["family-names"] for author in paper["authors"]] == ["Gauthier", "Gaudel", "Fromont"]


def test_the_hooks_are_valid_and_run_the_checks_of_make_check() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(ROOT / ".pre-commit-config.yaml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"  # nothing is downloaded
    tools = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert tools == {f".venv/bin/{tool}" for tool in DEVELOPMENT_TOOLS}
    checked = re.findall(
        r"^\t\$\(BIN\)/([\w-]+)", (ROOT / "Makefile").read_text().partition("\ncheck:")[2], re.MULTILINE
    )
    assert tools == {f".venv/bin/{tool}" for tool in checked[:4]}
