"""The order of all tests, and fixtures of more than one folder: commands, and a running service."""

import gc
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.remote import Producer

from tests.command_line import CommandResult, run_command, run_process
from tests.worker_groups import GroupScheduling, rank

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer
    from tests.service.running_service import Process


def pytest_configure() -> None:
    """Let tests interrupt what they run. A shell starts background jobs (`make test &`) with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that compile most."""
    items.sort(key=lambda item: rank(item.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Keep the tests that compile the same kernels in one process."""
    return GroupScheduling(config, log)


def pytest_collection_finish() -> None:
    """Search for garbage less often: compiling creates millions of objects, and each search visited every test too."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture
def slotwise() -> Callable[..., CommandResult]:
    """Runs a command in this process: `slotwise("policies", "--json").json()`."""
    return run_command


@pytest.fixture
def slotwise_process() -> Callable[..., CommandResult]:
    """Runs a command in a separate process; `cwd` and other settings are those of `subprocess.run`."""
    return run_process


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Process]":
    """A service in a separate process, shared by all tests that do not stop it; each test uses its own `page`."""
    from tests.service.running_service import process  # here, since most tests need no service

    with process(tmp_path_factory.mktemp("store") / "store.db") as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> "Iterator[PostgresServer]":
    """A PostgreSQL server, shared by all tests."""
    from tests.postgres_server import running_server  # here, since most tests need no database

    with running_server() as server:
        yield server


@pytest.fixture
def page(request: pytest.FixtureRequest) -> str:
    """The name of a page that no other test uses."""
    return str(request.node.name)[:60].replace("[", "-").replace("]", "").replace(" ", "-")


@pytest.fixture
def quick_store() -> Iterator[Path]:
    """A store in memory, on machines with /dev/shm: its commits do not wait for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "store.db"
