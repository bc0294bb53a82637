"""Flows: what a client does, written once for the sync and the async client, as generators without input or output.

A flow yields a `Post` and receives its result, or yields a `Wait` and receives None. `run_flow` and `run_async_flow`
carry the steps out.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import NamedTuple, TypeVar

import httpx

ResultT = TypeVar("ResultT")


class Post(NamedTuple):
    """A request to the service."""

    path: str
    content: bytes
    headers: dict[str, str]
    timeout: float


class Wait(NamedTuple):
    """A pause, which may end earlier."""

    seconds: float


class Answer(NamedTuple):
    """An answer of the service."""

    status: int
    content: bytes
    retry_after: float | None = None


class NoAnswer(NamedTuple):
    """Why there is no answer, and whether the service may have received the request."""

    reason: str
    sent: bool = True


Exchange = Answer | NoAnswer
Flow = Generator[Post | Wait, Exchange | None, ResultT]


def post(step: Post) -> Flow[Exchange]:
    """Send a request within a flow: `result = yield from post(...)`."""
    result = yield step
    assert result is not None
    return result


def run_flow(
    flow: Flow[ResultT], send: Callable[[Post], Exchange], wait: Callable[[float], object] = time.sleep
) -> ResultT:
    """Carry out the steps of a flow on this thread, and return its result."""
    result: Exchange | None = None
    try:
        while True:
            step = flow.send(result)
            if isinstance(step, Post):
                result = send(step)
            else:
                wait(step.seconds)
                result = None
    except StopIteration as end:
        value: ResultT = end.value
        return value
    finally:
        flow.close()


async def run_async_flow(
    flow: Flow[ResultT],
    send: Callable[[Post], Awaitable[Exchange]],
    wait: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ResultT:
    """Carry out the steps of a flow on the event loop, and return its result."""
    result: Exchange | None = None
    try:
        while True:
            step = flow.send(result)
            if isinstance(step, Post):
                result = await send(step)
            else:
                await wait(step.seconds)
                result = None
    except StopIteration as end:
        value: ResultT = end.value
        return value
    finally:
        flow.close()  # also when this task is cancelled, so that the flow gives back what it has in hand


def read_answer(answer: httpx.Response) -> Answer:
    """What a flow needs of an answer."""
    try:
        retry_after = max(0.0, float(answer.headers["retry-after"]))
    except (KeyError, ValueError):  # a date is rare, so the client's own pause serves
        retry_after = None
    return Answer(answer.status_code, answer.content, retry_after)


def no_answer(error: Exception) -> NoAnswer:
    """What a flow needs of an error of httpx."""
    never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
    reason = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error) or type(error).__name__
    return NoAnswer(reason, not isinstance(error, never_sent))
