"""Begins the stories of a test module when tests have been collected, so that they run beside the other tests.

A module that says `pytest_plugins = ["stories"]` has a function `begin`, which starts them, a fixture `told`, which
waits for what they tell, and a function `end`. Stories are processes that compile: each takes seconds.
"""

from types import ModuleType

import pytest

_begun: list[ModuleType] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        return
    wanting = {item.module for item in session.items if "told" in getattr(item, "fixturenames", ())}
    for module in wanting:
        if "stories" in getattr(module, "pytest_plugins", ()):  # other modules may use the name for something else
            module.begin()
            _begun.append(module)


def pytest_sessionfinish() -> None:
    for module in _begun:
        module.end()
