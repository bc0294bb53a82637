"""While a service runs, garbage is collected, but not on the thread of the event loop."""

import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from slotwise.service.garbage_collection import YOUNG_OBJECTS, collecting_in_background
from tests.waiting import wait_until


class Cyclic:
    """Only the garbage collector frees this object."""

    def __init__(self) -> None:
        self.itself = self


@contextmanager
def collecting_threads() -> Iterator[set[int]]:
    """The threads that collect garbage in the block."""
    threads = set[int]()

    def note(phase: str, _: dict[str, int]) -> None:
        threads.add(threading.get_ident())

    gc.callbacks.append(note)
    try:
        yield threads
    finally:
        gc.callbacks.remove(note)


def make_garbage() -> weakref.ref[Cyclic]:
    garbage = [Cyclic() for _ in range(2 * YOUNG_OBJECTS)]
    return weakref.ref(garbage[0])


def test_this_thread_collects_nothing() -> None:
    with collecting_threads() as threads, collecting_in_background():
        garbage = make_garbage()
        wait_until(lambda: garbage() is None)
    assert threads
    assert threading.get_ident() not in threads
    assert gc.isenabled()


def test_without_it_this_thread_collects() -> None:
    ours = gc.get_threshold()  # the tests collect rarely
    gc.set_threshold(YOUNG_OBJECTS, *ours[1:])
    try:
        with collecting_threads() as threads:
            make_garbage()
    finally:
        gc.set_threshold(*ours)
    assert threading.get_ident() in threads
