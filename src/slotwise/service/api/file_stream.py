"""Stream a file as the content of a response."""

import asyncio
from collections.abc import AsyncGenerator
from typing import IO

FILE_CHUNK = 1 << 16  # bytes


async def stream_file(file: IO[bytes]) -> AsyncGenerator[bytes, None]:
    """The content of an open file, from its current position on. The file is closed at the end."""
    with file:
        while chunk := await asyncio.to_thread(file.read, FILE_CHUNK):
            yield chunk
