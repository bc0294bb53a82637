"""State as lines: export and import the counts of a page of any size. Each line is a JSON object (NDJSON).

The first line is the header. It has the number of the lines that follow, so an incomplete file is noticed. Each of
these lines has one cell.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import HUGE, IF_MATCH, NOT_FOUND, STALE, Call, Response, Route, etag
from slotwise.service.api.state import read_stored
from slotwise.service.api.state_cells import CellNumbers, Count, Row, StateCell, StoredState
from slotwise.service.background_threads import run_in_background
from slotwise.service.errors import DoesNotFit
from slotwise.service.pages.limits import MOST_COUNTS

NDJSON = "application/x-ndjson"
LONGEST_LINE = 4_096  # bytes; the longest names need fewer
_LINES = 500  # encoded at once
Decoded = TypeVar("Decoded")


class StateHeader(Struct, forbid_unknown_fields=True):
    """The first line: the displays of the page, and how many lines follow."""

    displays: Count
    counts: Annotated[int, Meta(ge=0, le=MOST_COUNTS)]
    format: Literal["slotwise-state"] = "slotwise-state"
    version: Literal[1] = 1


_encode = msgspec.json.Encoder().encode
_header, _cell = msgspec.json.Decoder(StateHeader), msgspec.json.Decoder(StateCell)


async def get(call: Call[None]) -> Response:
    """Export the counts as lines. The ETag is the revision of the counts."""
    state = await read_stored(call)
    return Response(200, lambda: encode_lines(state), etag(state.revision), NDJSON)


async def put(call: Call[BinaryIO]) -> Response:
    """Replace all counts by those in the lines. The page learns no longer from displays issued before."""
    with call.body as file:
        model = await call.service.model(call.path["page"])
        numbers = CellNumbers(model)
        header = await run_in_background(_read_header, file)
        cells = await run_in_background(lambda: numbers.array(_rows(file, header.counts, numbers)))
    revision = await call.service.import_counts(model, cells, header.displays, call.if_match(), call.author)
    return Response(204, headers=etag(revision))


def encode_lines(state: StoredState) -> Iterator[bytes]:
    """The lines of a state, many at once."""
    lines = [_encode(StateHeader(state.displays, len(state)))]
    for cell in state.cells():
        lines.append(_encode(cell))
        if len(lines) == _LINES:
            yield b"\n".join([*lines, b""])
            lines = []
    yield b"".join(line + b"\n" for line in lines)


def _read_header(file: BinaryIO) -> StateHeader:
    line = file.readline(LONGEST_LINE)
    if not line.strip():
        raise DoesNotFit.at("/0", 'line 1 is empty; it must be a header: {"displays": 0, "counts": 0}')
    return _decoded(_header, line, 0)


def _rows(file: BinaryIO, n_lines: int, numbers: CellNumbers) -> Iterator[Row]:
    for k in range(1, n_lines + 1):
        line = file.readline(LONGEST_LINE)
        if not line:
            raise DoesNotFit.at("/0/counts", f"the header announces {n_lines:,} counts, but {k - 1:,} lines follow")
        yield numbers.row(_decoded(_cell, line, k), f"/{k}")
    if file.read(1):
        raise DoesNotFit.at("/0/counts", f"the header announces {n_lines:,} counts, but more lines follow")


def _decoded(decoder: msgspec.json.Decoder[Decoded], line: bytes, k: int) -> Decoded:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DoesNotFit.at(f"/{k}", f"line {k + 1}: {error}") from None


_LINES_OF_STATE = "/v1/pages/{page}/state.ndjson"
ROUTES = [
    Route(
        "GET", _LINES_OF_STATE, "get_state_lines", "Export the counts as lines.", get,
        {200: ("a header, then a line for each count", NDJSON)}, NOT_FOUND, tag="learnt", has_etag=True, large=True,
        needs="read",
    ),
    Route(
        "PUT", _LINES_OF_STATE, "put_state_lines", "Replace all counts by imported lines.", put,
        {204: ("imported", None)}, {**NOT_FOUND, **STALE}, media_types=(NDJSON,), parameters=(IF_MATCH,),
        max_bytes=HUGE, streamed=True, tag="learnt", has_etag=True, needs="admin",
    ),
]  # fmt: skip
