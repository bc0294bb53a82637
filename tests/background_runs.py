"""Starts the background runs of a test module once tests are collected, so that they run beside the other tests.

A module with `pytest_plugins = ["tests.background_runs"]` has a function `begin`, which starts them, a fixture `told`,
which waits for their results, and a function `end`. A run is a process that compiles, which takes seconds.
"""

from types import ModuleType

import pytest

_begun: list[ModuleType] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        return
    wanting = {item.module for item in session.items if "told" in getattr(item, "fixturenames", ())}
    for module in wanting:
        if "tests.background_runs" in getattr(
            module, "pytest_plugins", ()
        ):  # other modules may use the name for something else
            module.begin()
            _begun.append(module)


def pytest_sessionfinish() -> None:
    for module in _begun:
        module.end()
