"""A cluster of two worker processes gives the counts of one machine. `make test-spark` runs it."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from slotwise.logs.read_log import read_log
from slotwise.logs.synthetic import synth
from slotwise.logs.synthetic_traffic import ZipfTraffic
from tests.logs.plain_counting import cells
from tests.waiting import wait_until

# Spark's bridge to Java closes its sockets only when they are garbage-collected
UNCLOSED = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings(UNCLOSED)]
pyspark = pytest.importorskip("pyspark", reason="no Spark here: pip install 'slotwise[spark]'")
if not shutil.which("java"):
    pytest.skip("no Java here, which Spark needs: install Java 17 or newer", allow_module_level=True)

START = str(Path(pyspark.__file__).parent / "bin" / "spark-class")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers with one core each."""
    folder, port = tmp_path_factory.mktemp("spark"), free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy, local = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[f"{deploy}.master.Master", *local, "--port", str(port)]]
    for k in (1, 2):
        work = str(folder / f"work{k}")
        commands.append([f"{deploy}.worker.Worker", *local, "-c", "1", "-m", "1g", "-d", work, address])
    with ExitStack() as stack:
        logs = []
        for k, command in enumerate(commands):
            path = folder / f"{k}.log"
            logs.append(path)
            out = stack.enter_context(path.open("w"))
            process = subprocess.Popen([START, *command], stdout=out, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            if k == 0:
                _wait(path, "I have been elected leader")
        for path in logs[1:]:
            _wait(path, "Successfully registered with master")
        yield address


def _wait(path: Path, words: str) -> None:
    wait_until(lambda: words in path.read_text())


def test_two_workers_count_what_one_machine_does(tmp_path: Path, master: str) -> None:
    files = []
    for seed in range(4):
        files.append(str(tmp_path / f"{seed}.txt"))
        synth(files[-1], ZipfTraffic(50_000, queries=100, items=8), "kdd2012", seed=seed)
    schema = {"min_shown": 50, "min_items": 2}
    alone = read_log(files, "kdd2012", schema)
    together = read_log(files, "kdd2012", schema, engine="spark", master=master)
    assert len(alone.queries) > 5
    assert cells(alone) == cells(together)
    assert alone.account == together.account
