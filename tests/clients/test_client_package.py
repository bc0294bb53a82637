"""The package slotwise-client: its wheel has every file and needs nothing but httpx."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling import build

from slotwise_client.version import __version__

ROOT = Path(__file__).parent.parent.parent
CLIENT = ROOT / "clients" / "python"


def test_the_wheel_holds_the_files_of_the_client_and_needs_httpx_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CLIENT)
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (metadata,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("/METADATA")]
    sources = {path for path in (CLIENT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {str(path.relative_to(CLIENT / "src")) for path in sources}
    assert "slotwise_client/py.typed" in names
    assert re.findall(r"^Requires-Dist: ([\w-]+)", metadata, flags=re.MULTILINE) == ["httpx"]
    assert f"\nVersion: {__version__}\n" in metadata


def test_the_client_does_not_load_slotwise() -> None:
    code = "import sys, slotwise_client; print(sorted({'slotwise', 'numpy', 'msgspec'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
