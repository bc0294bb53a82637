"""Garbage collection on a thread of its own.

Python collects garbage on whichever thread creates an object. A full collection takes 50 ms when a page with 100,000
items is in memory, and the event loop must not be held for so long.
"""

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CHECK_SECONDS = 0.2
# collections are rare, because requests leave no cycles
YOUNG_OBJECTS = 10_000  # more objects than this were created and not freed since the last collection
COLLECTIONS = 20  # of one generation before the next one is collected too
FULL_SECONDS = 60.0  # between two full collections


@contextmanager
def collecting_in_background() -> Iterator[None]:
    """Collect garbage on a background thread until the block ends. What exists now counts as permanent."""
    gc.freeze()  # imported modules stay in memory, so the collector need not visit them again
    gc.disable()
    stopped = threading.Event()
    thread = threading.Thread(target=_collect_until, args=[stopped], name="slotwise-garbage", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        gc.enable()


def _collect_until(stopped: threading.Event) -> None:
    full_at = time.monotonic()
    while not stopped.wait(CHECK_SECONDS):
        young, once, twice = gc.get_count()
        if young < YOUNG_OBJECTS:
            continue
        if once < COLLECTIONS:
            gc.collect(0)
        elif twice < COLLECTIONS or time.monotonic() < full_at + FULL_SECONDS:
            gc.collect(1)
        else:
            gc.collect(2)
            full_at = time.monotonic()
