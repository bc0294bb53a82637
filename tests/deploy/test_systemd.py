"""The unit is valid for systemd, and hardened."""

import re
from pathlib import Path

import pytest

from tests.programs import needed, succeeds

UNIT = Path(__file__).parent.parent.parent / "deploy" / "systemd" / "slotwise.service"
MOST_EXPOSED = 15  # tenths; systemd gives 96 to a unit without hardening


@pytest.fixture
def analyze() -> str:
    return needed("systemd-analyze", "the unit is not checked")


def test_systemd_accepts_the_unit(analyze: str, tmp_path: Path) -> None:
    """systemd also looks for the program, which is not installed here."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/slotwise/bin/slotwise", "/bin/true"))
    output = succeeds(analyze, "verify", copy)
    assert UNIT.name not in output, output


def test_the_unit_is_hardened(analyze: str) -> None:
    output = succeeds(analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", UNIT)
    assert re.search(r"Overall exposure level for slotwise.service: [01]\.\d", output), output
