"""Work beside the event loop that cannot be interrupted, as compiling cannot, and need not be waited for at the end."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, TypeVarTuple, Unpack

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")
_NAME = "slotwise-aside"


async def aside(function: Callable[[Unpack[Given]], Answer], *given: *Given) -> Answer:
    """What the function answers, on a thread of its own. asyncio's own threads keep a process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def tell(answer: Answer | None, problem: Exception | None) -> None:
        if future.done():
            return  # whoever waited has gone
        if problem is None:
            future.set_result(answer)  # type: ignore[arg-type]
        else:
            future.set_exception(problem)

    def run() -> None:
        answer, problem = None, None
        try:
            answer = function(*given)
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, answer, problem)

    threading.Thread(target=run, name=_NAME, daemon=True).start()
    return await future


def end_now() -> None:
    """The last thing a process does whose work is done: it does not wait for a thread that works for nobody.

    Nor may it end in the usual way meanwhile: the compiler would work on while it is being taken down.
    """
    if any(thread.name == _NAME for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
