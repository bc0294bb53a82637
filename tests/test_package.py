"""The wheel and the sdist hold every file that they need, and no others."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "slotwise"


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build backend works in the folder of the project."""
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("at_root")
def test_the_wheel_holds_the_files_of_the_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
        assert "slotwise = slotwise.__main__:main" in wheel.read(entry_points).decode()
    sources = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {str(path.relative_to(PACKAGE.parent)) for path in sources}
    assert {"slotwise/py.typed", "slotwise/client/sample/shop.toml", "slotwise/paper/output/report.html"} <= names


@pytest.mark.usefixtures("at_root")
def test_the_sdist_holds_what_git_does_not_ignore(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")  # `make package` runs this in an unpacked sdist, inside a checkout
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    expected = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    assert names - {"PKG-INFO"} == expected
    assert {"Makefile", "constraints.txt", "tests/test_package.py", "docs/python_api.md", "examples/shop.toml"} <= names
