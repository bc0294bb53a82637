"""Starts the background processes of a test module after collection, so that they run concurrently with other tests.

A module with `pytest_plugins = ["tests.background_runs"]` has a function `start`, which starts them, a fixture
`results`, which waits for their results, and a function `stop`. Each process compiles, which takes seconds.
"""

from types import ModuleType

import pytest

_started: list[ModuleType] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        return
    for module in {item.module for item in session.items if "results" in getattr(item, "fixturenames", ())}:
        # other modules may have a fixture of the same name
        if "tests.background_runs" in getattr(module, "pytest_plugins", ()):
            module.start()
            _started.append(module)


def pytest_sessionfinish() -> None:
    for module in _started:
        module.stop()
