"""Compilation is reported while it happens, and not when everything is in the cache."""

import os
import sys
from importlib import import_module
from pathlib import Path

import numba
import pytest

from slotwise.compilation_progress import watch_compilation


def test_functions_are_counted_until_the_outermost_is_compiled() -> None:
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    calls = []
    with watch_compilation(lambda compiled, running: calls.append((compiled, running))):
        assert outer(1) == 4
        assert outer(2) == 6  # compiled already
    outer(1.0)  # compiled again for another type, but not watched
    assert calls == [(0, True), (0, True), (1, True), (2, False)]


def test_kernels_from_the_cache_are_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "kernels_to_watch.py"
    source.write_text("from slotwise.jit import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n")
    os.utime(source, (0, 0))  # a file that is newer than the process is not cached
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLOTWISE_CACHE_DIR", str(tmp_path / "cache"))
    calls = []
    for _ in range(2):
        monkeypatch.delitem(sys.modules, "kernels_to_watch", raising=False)
        with watch_compilation(lambda compiled, running: calls.append((compiled, running))):
            assert import_module("kernels_to_watch").twice(2) == 4
    assert calls == [(0, True), (1, False)]
