"""Progress of compilation: callbacks while numba compiles, none when everything is in the cache."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

OnCompile = Callable[
    [int, bool], None
]  # gets the number of functions compiled so far, and whether one is being compiled
_KIND = "numba:compile"


@contextmanager
def watch_compilation(on_compile: OnCompile) -> Iterator[None]:
    """Call `on_compile` whenever numba starts or finishes to compile a function, on the thread that compiles."""
    listener = _CompileListener(on_compile)
    event.register(_KIND, listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister(_KIND, listener)  # type: ignore[no-untyped-call]


class _CompileListener(event.Listener):
    """Functions are compiled inside others, one at a time: numba holds a lock."""

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
