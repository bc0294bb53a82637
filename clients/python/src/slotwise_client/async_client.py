"""AsyncClient: for programs with an event loop, such as FastAPI. Events are sent by a task in the background."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self, Unpack

import httpx

from slotwise_client.base_client import BaseClient
from slotwise_client.display import Display, RequestFields
from slotwise_client.flow import Exchange, NoAnswer, Post, no_answer, read_answer, run_async_flow


class AsyncClient(BaseClient):
    """A client of the service at a URL. Create one per program, and close it when the program ends."""

    async def __aenter__(self) -> Self:
        self._attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def recommend(self, page: str, **fields: Unpack[RequestFields]) -> Display:
        """A display for one page view. It takes at most `timeout` seconds.

        While the service is away, it is the last good display or the default order: see `Display.source`.
        """
        self._attach()
        return await run_async_flow(self._recommend(page, fields), self._send)

    async def flush(self, timeout: float | None = None) -> bool:
        """Send all events now, for up to `timeout` seconds (`exit_timeout`). Returns whether all have an outcome."""
        self._attach()
        return await run_async_flow(self._drain(timeout), self._send)

    async def aclose(self, timeout: float | None = None) -> None:
        """Send all events and end. Events that cannot be sent within `timeout` seconds (`exit_timeout`) are dropped."""
        if self._closed:
            return
        self._attach()
        self._closed = True
        await run_async_flow(self._drain(timeout, closing=True), self._send)
        self._task.cancel()
        await asyncio.wait([self._task])

    def _set_up(self) -> None:
        super()._set_up()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _attach(self) -> None:
        """Use the running event loop. If it is not the one of the last call, start again there."""
        loop = asyncio.get_running_loop()
        if loop is self._loop or self._closed:
            return
        self._http = httpx.AsyncClient(base_url=self._url, verify=self._options.tls or True)
        self._awake = asyncio.Event()
        self._loop = loop
        self._task = loop.create_task(self._send_events(self._http))

    def _wake_sender(self) -> None:
        """Wake the task, also from another thread. Without a running event loop, events wait for the next call."""
        if self._loop is None or self._loop.is_closed():
            try:
                self._attach()
            except RuntimeError:
                return
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._awake.set)

    async def _send_events(self, http: httpx.AsyncClient) -> None:
        try:
            await run_async_flow(self._sender.flow(), self._send, self._wait)
        finally:
            await http.aclose()  # when this task ends: a connection cannot change its event loop

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._awake.wait(), seconds)
        self._awake.clear()

    async def _send(self, step: Post) -> Exchange:
        try:
            async with asyncio.timeout(step.timeout):
                answer = await self._http.post(step.path, content=step.content, headers=step.headers)
                return read_answer(answer)
        except TimeoutError:
            return NoAnswer("no answer in time")
        except Exception as error:  # whatever it is, the page must go on
            return no_answer(error)

    def _end_with_program(self) -> None:
        """The event loop has ended, so nothing more can be sent. What is left is reported."""
        self._queue.close("the program ended before `aclose` was called")
