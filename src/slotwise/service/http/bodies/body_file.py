"""Read the body of a request into a temporary file, because it may be larger than the memory."""

import asyncio

from starlette.types import Receive

from slotwise.service.http.bodies.request_body import TIMEOUT_SECONDS, check_media_type
from slotwise.service.http.problems import Problem
from slotwise.service.temporary_files import IN_MEMORY, BudgetedFile, FileBudget

BODIES = FileBudget(4 << 30)  # of all connections
_CLOSE = {"connection": "close"}


class BodyFileReader:
    """Reads the bodies of one route into files."""

    def __init__(self, media_types: tuple[str, ...], max_bytes: int) -> None:
        self._media_types, self._max_bytes = media_types, max_bytes

    async def read(self, receive: Receive, headers: dict[bytes, bytes]) -> BudgetedFile:
        """Read the whole body. Raises a Problem with status 400, 408, 413, 415 or 503 if that is not possible.

        The timeout is for each piece of the body, so a large body may take as long as it needs.
        """
        check_media_type(headers.get(b"content-type", b""), self._media_types)
        file = BudgetedFile(BODIES)
        try:
            await self._fill(file, receive)
        except BaseException:
            file.close()
            raise
        return file

    async def _fill(self, file: BudgetedFile, receive: Receive) -> None:
        chunks, waiting, more = list[bytes](), 0, True
        while more:
            chunk, more = await _next_chunk(receive)
            chunks.append(chunk)
            waiting += len(chunk)
            if file.size + waiting > self._max_bytes:
                raise Problem(413, f"the body is larger than {self._max_bytes:,} bytes", headers=_CLOSE)
            if waiting > IN_MEMORY or not more:
                await _write(file, chunks)
                chunks, waiting = [], 0
            if BODIES.is_exceeded:
                raise Problem(503, "too many large bodies arrive at once", headers=_CLOSE)
        file.seek(0)


async def _next_chunk(receive: Receive) -> tuple[bytes, bool]:
    """The next piece of a body, and whether more may follow."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            message = await receive()
    except TimeoutError:
        raise Problem(408, f"no part of the body arrived within {TIMEOUT_SECONDS:g} seconds", headers=_CLOSE) from None
    if message["type"] == "http.disconnect":
        raise Problem(400, "the connection was closed before the end of the body")
    return message.get("body", b""), message.get("more_body", False)


async def _write(file: BudgetedFile, chunks: list[bytes]) -> None:
    try:
        if sum(map(len, chunks)) <= IN_MEMORY:  # a small body is written at once
            file.write(b"".join(chunks))
        else:
            await asyncio.to_thread(lambda: file.write(b"".join(chunks)))
    except OSError as error:
        raise Problem(503, f"the service cannot write a temporary file: {error.strerror}", headers=_CLOSE) from None
