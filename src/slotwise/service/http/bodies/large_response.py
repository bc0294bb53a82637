"""Large responses. While one is sent, it is in a temporary file: slow readers must not fill the memory."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, BinaryIO

from slotwise.service.api.file_stream import stream_file
from slotwise.service.api.route import Call, Response, Route
from slotwise.service.background_threads import run_in_background
from slotwise.service.http.encoding import LargeContent, encode_in_pieces
from slotwise.service.http.problems import Problem

IN_MEMORY = 64 << 10  # bytes; larger responses are sent from a temporary file
AT_ONCE = 4  # requests of a route that may use much memory at the same time; others wait for their turn
MOST_WAITING = 100
MOST_IN_FILES = 1 << 30  # bytes of a route's responses in temporary files; a single response may be larger


class LargeResponses:
    """Makes the large responses of one route, and limits what they take together."""

    def __init__(self, route: Route[Any]) -> None:
        self._handle = route.handle
        # a change may wait for a compiler, and its response is small compared with an export
        self._slots = asyncio.Semaphore(AT_ONCE) if route.method == "GET" else None
        self._waiting = 0
        self._in_files = 0  # bytes

    async def handle(self, call: Call[Any]) -> Response:
        """Call the handler of the route, and encode the content: as bytes, or as a stream from a temporary file.

        Raises 503 if too many requests wait, or if too much is being sent.
        """
        if self._in_files > MOST_IN_FILES:
            raise Problem(503, "too many large responses are being sent")
        if self._slots is None:
            return await self._encoded(await self._handle(call))
        if self._waiting >= MOST_WAITING:
            raise Problem(503, "too many large requests are waiting")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._encoded(await self._handle(call))
        finally:
            self._slots.release()

    async def _encoded(self, response: Response) -> Response:
        try:
            content, size = await run_in_background(_write, response.content)
        except OSError as error:
            raise Problem(503, f"the service cannot write a temporary file: {error.strerror}") from None
        if isinstance(content, bytes):
            return response._replace(content=content)
        headers = {**response.headers, "content-length": str(size)}
        return response._replace(content=self._counted(content, size), headers=headers)

    async def _counted(self, file: BinaryIO, size: int) -> AsyncGenerator[bytes, None]:
        self._in_files += size
        try:
            async with aclosing(stream_file(file)) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            self._in_files -= size


def _write(content: LargeContent) -> tuple[bytes | BinaryIO, int]:
    """Encode the content into a file, or into bytes if it is small. Also returns its size."""
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - `stream_file` closes it
    try:
        for piece in encode_in_pieces(content):
            file.write(piece)
        size = file.tell()
        file.seek(0)
        if size > IN_MEMORY:
            return file, size  # type: ignore[return-value]
        with file:
            return file.read(), size
    except BaseException:
        file.close()
        raise
