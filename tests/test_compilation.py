"""Compilation is reported while it happens, and not when everything is in the cache."""

import os
import subprocess
import sys
from pathlib import Path

import numba

from slotwise.compilation import watch_compilation

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import kernels_to_watch
from slotwise.compilation import watch_compilation
calls = []
with watch_compilation(lambda compiled, running: calls.append((compiled, running))):
    assert kernels_to_watch.twice(2) == 4
print(len(calls))
"""


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


def test_kernels_from_the_cache_are_not_reported(tmp_path: Path) -> None:
    source = "from slotwise.jit import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n"
    (tmp_path / "kernels_to_watch.py").write_text(source)
    environment = os.environ | {"SLOTWISE_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    calls = [int(subprocess.run(command, capture_output=True, text=True, env=environment).stdout) for _ in range(2)]
    assert calls == [2, 0]
