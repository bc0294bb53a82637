"""Background threads for work that cannot be interrupted, such as compiling. The process need not wait for them."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple, Unpack

Returned = TypeVar("Returned")
Arguments = TypeVarTuple("Arguments")
_FREED_AT_ONCE = 1_000
_THREAD_NAME = "slotwise-background"


async def run_in_background(function: Callable[[Unpack[Arguments]], Returned], *arguments: *Arguments) -> Returned:
    """Call a function on a new thread.

    asyncio's executor is not used, because its threads would keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Returned] = loop.create_future()

    def complete(result: Returned | None, error: Exception | None) -> None:
        if future.done():
            return  # the caller was cancelled
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = function(*arguments)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(complete, result, error)

    threading.Thread(target=run, name=_THREAD_NAME, daemon=True).start()
    return await future


def empty_list(elements: list[Any]) -> None:
    """Empty a long list in pieces. Call this on a background thread.

    The last reference to a list of 100,000 elements frees all of them at once, which takes 30 ms. At the end of a
    handler, this would happen on the event loop.
    """
    while elements:
        del elements[-_FREED_AT_ONCE:]


def free_in_background(objects: list[Any]) -> None:
    """Free large objects on a background thread. The caller must keep no other reference to them."""
    threading.Thread(target=empty_list, args=[objects], name=_THREAD_NAME, daemon=True).start()


def exit_if_busy() -> None:
    """End the process at once if background work is still running. Call it last.

    Otherwise Python would shut down its interpreter while the compiler still runs.
    """
    if any(thread.name == _THREAD_NAME for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
