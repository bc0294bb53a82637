"""A service process that all client tests share; each test uses its own pages."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running_service import Process, process


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store") / "store.db") as one:
        yield one


@pytest.fixture
def page(request: pytest.FixtureRequest) -> str:
    """A page name that no other test uses."""
    return str(request.node.name)[:60].replace("[", "-").replace("]", "").replace(" ", "-")


@pytest.fixture
def quick_store() -> Iterator[Path]:
    """A store in memory if the system has /dev/shm, so that commits do not wait for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "store.db"
