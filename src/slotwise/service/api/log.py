"""The log of a page: one line for each item that was shown at a position, as NDJSON or Parquet, streamed."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import Struct

from slotwise.service.api.route import NOT_FOUND, Answer, Call, Parameter, Route
from slotwise.service.http.problems import Problem
from slotwise.service.service import Service
from slotwise.service.store.interface import LogRow

CHUNK = 1_000  # displays at a time: memory does not grow with the log
_PIECE = 1 << 16  # bytes
_encode = msgspec.json.Encoder().encode
_FORMAT = Parameter("format", "query", Literal["ndjson", "parquet"], "ndjson by default")


class LogLine(Struct):
    """An item at a position: shown 1 (0 when the display was discarded or does not count), clicked 1 or 0."""

    display: str
    issued: float
    page: str
    segment: str
    layout: str
    position: str
    item: str
    shown: int
    clicked: int
    variant: str


async def get(call: Call) -> Answer:
    """Stream the log, oldest display first."""
    model = await call.service.model(call.path["page"])
    form = call.query.get("format", "ndjson")
    chunks = _chunks(call, model.page.name, model.page.number)
    if form == "ndjson":
        return Answer(200, _ndjson(chunks), media_type="application/x-ndjson")
    if form == "parquet":
        return Answer(200, _pieces(await _parquet(chunks)), media_type="application/vnd.apache.parquet")
    raise Problem(422, f"format = {form!r} is neither ndjson nor parquet")


async def _chunks(call: Call, name: str, page: int) -> AsyncIterator[list[LogLine]]:
    last = 0
    while rows := await _rows(call.service, page, last):
        last = rows[-1].number
        yield [_line(name, row) for row in rows]


async def _rows(service: Service, page: int, after: int) -> list[LogRow]:
    return await service.store.read(lambda ledger: ledger.log(page, after, CHUNK))


def _line(page: str, row: LogRow) -> LogLine:
    shown = int(row.counted)
    clicked = shown * row.clicked
    return LogLine(
        row.display, row.issued, page, row.segment, row.layout, row.position, row.item, shown, clicked, row.variant
    )


async def _ndjson(chunks: AsyncIterator[list[LogLine]]) -> AsyncIterator[bytes]:
    async for lines in chunks:
        yield b"".join(_encode(line) + b"\n" for line in lines)


async def _parquet(chunks: AsyncIterator[list[LogLine]]) -> BinaryIO:
    """Into a file without a name: a Parquet file is complete only with its last bytes."""
    import pyarrow
    from pyarrow import parquet

    kinds: dict[Any, Any] = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in LogLine.__annotations__.items()])
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever sends it closes it
    with parquet.ParquetWriter(file, schema) as writer:
        async for lines in chunks:
            table = pyarrow.Table.from_pylist(msgspec.to_builtins(lines), schema=schema)
            await asyncio.to_thread(writer.write_table, table)
    file.seek(0, os.SEEK_SET)
    return file


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/log", "get_log", "The log, one line for each item shown at a position.", get,
        {200: ("lines, oldest first", "application/x-ndjson,application/vnd.apache.parquet")}, NOT_FOUND,
        parameters=(_FORMAT,), tag="learnt",
    ),
]  # fmt: skip
