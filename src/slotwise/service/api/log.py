"""The log of a page, as NDJSON or Parquet. Each item of a display has its own line."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec

from slotwise.extras import MissingExtra, require
from slotwise.service.api.file_stream import stream_file
from slotwise.service.api.route import NOT_FOUND, Call, Parameter, Response, Route
from slotwise.service.errors import FormatNotAvailable, StoreDown
from slotwise.service.log_lines import LogLine, log_line, parquet_schema
from slotwise.service.service import Service
from slotwise.service.store.ledger import Ledger
from slotwise.service.temporary_files import BudgetedFile, FileBudget

CHUNK = 200  # displays read at a time, so that memory does not grow with the log
_LINES = 500  # encoded at once
PARQUET_FILES = FileBudget(2 << 30)  # of all exports that are being written or sent
_encode = msgspec.json.Encoder().encode
_FORMAT = Parameter("format", "query", Literal["ndjson", "parquet"], "ndjson is the default")


async def get(call: Call[None]) -> Response:
    """Stream the log. The oldest display comes first."""
    model = await call.service.model(call.path["page"])
    chunks = _chunks(call.service, model.page.name, model.page.number)
    if call.query.get("format") == "parquet":
        _check_parquet()
        return Response(200, stream_file(await _parquet_file(chunks)), media_type="application/vnd.apache.parquet")
    return Response(200, _ndjson(chunks), media_type="application/x-ndjson")


def _check_parquet() -> None:
    try:
        require("logs", "format=parquet", "pyarrow")
    except MissingExtra as error:
        raise FormatNotAvailable(f"{error}; format=ndjson needs no package") from None


async def _chunks(service: Service, name: str, page: int) -> AsyncIterator[list[LogLine]]:
    last, lines = await _read_lines(service, name, page, 0)
    while lines:
        yield lines
        last, lines = await _read_lines(service, name, page, last)


async def _read_lines(service: Service, name: str, page: int, after: int) -> tuple[int, list[LogLine]]:
    """The next lines after a display, and the last display in them. The lines are made on the reading thread."""

    def operation(ledger: Ledger) -> tuple[int, list[LogLine]]:
        current = ledger.page(name)
        if current is None or current.number != page:
            return after, []  # the page was deleted meanwhile
        rows = ledger.log(page, after, CHUNK)
        return rows[-1].number if rows else after, [log_line(name, row) for row in rows]

    return await service.store.read(operation)


async def _ndjson(chunks: AsyncIterator[list[LogLine]]) -> AsyncIterator[bytes]:
    async for lines in chunks:
        for first in range(0, len(lines), _LINES):
            yield b"".join(_encode(line) + b"\n" for line in lines[first : first + _LINES])


async def _parquet_file(chunks: AsyncIterator[list[LogLine]]) -> BudgetedFile:
    try:
        return await _parquet(chunks)
    except OSError as error:
        raise StoreDown(f"the service cannot write a temporary file: {error.strerror}") from None


async def _parquet(chunks: AsyncIterator[list[LogLine]]) -> BudgetedFile:
    """Write the whole log to a temporary file first. Parquet ends with its index, so it cannot be streamed."""
    file = BudgetedFile(PARQUET_FILES, in_memory=1)  # `stream_file` closes it
    try:
        writer = await asyncio.to_thread(_open_writer, file)  # importing pyarrow takes long
        async for lines in chunks:
            await asyncio.to_thread(_write_lines, writer, lines)
            _check_budget()
        await asyncio.to_thread(writer.close)
        _check_budget()
    except BaseException:
        file.close()
        raise
    file.seek(0, os.SEEK_SET)
    return file


def _check_budget() -> None:
    if PARQUET_FILES.is_exceeded:
        raise StoreDown("too many large exports are being sent; try again, or use format=ndjson")


def _open_writer(file: BudgetedFile) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, parquet_schema())


def _write_lines(writer: Any, lines: list[LogLine]) -> None:
    import pyarrow

    writer.write_table(pyarrow.Table.from_pylist(msgspec.to_builtins(lines), schema=writer.schema))


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/log", "get_log", "The log: one line for each item and position of a display.", get,
        {200: ("lines, oldest first", "application/x-ndjson,application/vnd.apache.parquet")},
        {**NOT_FOUND, 406: "Parquet, but pyarrow is not installed where the service runs"},
        parameters=(_FORMAT,), tag="learnt", needs="read",
    ),
]  # fmt: skip
