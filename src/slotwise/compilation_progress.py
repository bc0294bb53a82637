"""Report the progress of compilation by callbacks. Nothing is reported if all functions are in numba's cache."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

OnCompile = Callable[
    [int, bool], None
]  # gets the number of functions compiled so far, and whether one is being compiled
_KIND = "numba:compile"


@contextmanager
def watch_compilation(on_compile: OnCompile) -> Iterator[None]:
    """Call `on_compile` whenever numba starts or finishes compiling a function. The compiling thread calls it."""
    listener = _CompileListener(on_compile)
    event.register(_KIND, listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister(_KIND, listener)  # type: ignore[no-untyped-call]


class _CompileListener(event.Listener):
    """Counts compiled functions. Compilations nest, but are never concurrent, because numba holds a lock."""

    def __init__(self, on_compile: OnCompile) -> None:
        self._on_compile = on_compile
        self._compiled, self._depth = 0, 0

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        self._depth += 1
        self._on_compile(self._compiled, True)

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._depth -= 1
        self._compiled += 1
        self._on_compile(self._compiled, self._depth > 0)
