"""The groups of tests: they name existing files, and pytest-xdist keeps each in one process."""

import os
import subprocess
import sys
from pathlib import Path

from tests.worker_groups import GROUPS, LAST, group_of, rank

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.worker_groups import GroupScheduling

def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)
"""
RECORDING_TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("case", range(6))
def test_case(case):
    with pathlib.Path("workers.txt").open("a") as file:
        file.write(f"{__file__} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_every_group_has_files() -> None:
    for start in (*(start for starts in GROUPS.values() for start in starts), *LAST):
        assert list(ROOT.glob(f"{start}*")), start


def test_the_first_group_with_the_start_of_the_path_counts() -> None:
    assert group_of("tests/policies/test_pmed.py::test_one[a::b]") == "policies"
    assert group_of("tests/test_arrange.py::test_one") == "tests/test_arrange.py"
    assert rank("tests/policies/test_pmed.py::test_one") < rank("tests/test_arrange.py::test_one")
    assert rank("tests/test_arrange.py::test_one") < rank("tests/docs/test_examples.py::test_one")
    assert rank("tests/docs/test_examples.py::test_one") < rank("tests/docs/test_docs.py::test_one")
    assert rank("tests/docs/test_docs.py::test_one") < rank("tests/paper/test_claims.py::test_one")


def test_xdist_keeps_a_group_in_one_process(tmp_path: Path) -> None:
    files = ["tests/policies/test_a.py", "tests/simulation/test_b.py", "tests/other/test_c.py", "tests/other/test_d.py"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(RECORDING_TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-n", "2", "--import-mode=importlib", "-p", "no:schemathesis"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=tmp_path, env=own | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = {tuple(line.split()) for line in (tmp_path / "workers.txt").read_text().splitlines()}
    workers = {str(Path(file).relative_to(tmp_path)): worker for file, worker in runs}
    assert len(runs) == len(files)  # every file in one process
    assert workers[files[0]] == workers[files[1]]
    assert len(set(workers.values())) == 2
