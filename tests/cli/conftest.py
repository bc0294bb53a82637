"""Fixtures of the tests of commands: a click log, and a policy file with a mistake."""

from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE_POLICY = Path(__file__).parent.parent.parent / "examples" / "click_share.py"


@pytest.fixture
def log(tmp_path: Path, slotwise) -> Path:
    """The eight queries of the paper in 26,100 lines: each item is shown 150 times at each position."""
    path = tmp_path / "clicks.csv"
    command = ["logs", "synth", str(path), "--setting", "behavioral", "--lines", "26100", "--seed", "1"]
    assert slotwise(*command).exit_code == 0
    return path


@pytest.fixture
def broken_policy(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes the example policy with one text replaced by another; returns the path of the file."""

    def write(right: str, wrong: str) -> str:
        source = EXAMPLE_POLICY.read_text()
        assert right in source
        path = tmp_path / "click_share.py"
        path.write_text(source.replace(right, wrong))
        return str(path)

    return write
