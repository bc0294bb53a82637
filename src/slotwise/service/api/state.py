"""State: all that a page has learnt, exported and imported by name."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import IF_MATCH, LARGE, NOT_FOUND, STALE, Answer, Call, Route, decode
from slotwise.service.http.problems import Problem
from slotwise.service.pages.limits import ItemName, Name
from slotwise.service.store.interface import CellCounts, Ledger, PageCounts, StoredPage

MOST_CELLS = 200_000
Count = Annotated[float, Meta(ge=0.0, le=1e12)]


class StateCell(Struct, forbid_unknown_fields=True):
    """Clicks and skips of an item at a position; a segment of null is for requests that name none."""

    item: ItemName
    layout: Name
    position: Name
    clicks: Count
    skips: Count
    segment: Name | None = None


class State(Struct, forbid_unknown_fields=True):
    """Counts of a page."""

    counts: Annotated[list[StateCell], Meta(max_length=MOST_CELLS)]
    displays: Count
    format: Literal["slotwise-state"] = "slotwise-state"
    version: Literal[1] = 1


_state = msgspec.json.Decoder(State)


async def get(call: Call) -> Answer:
    """Export the counts, and the revision they are of."""
    name = (await call.service.model(call.path["page"])).page.name

    def operation(ledger: Ledger) -> tuple[StoredPage, list[str], PageCounts]:
        page = ledger.page(name)
        if page is None:
            raise Problem(404, f"there is no page {name!r}")
        return page, [item for item, _ in ledger.items(page.number)], ledger.counts(page.number)

    page, items, counts = await call.service.store.do(operation)
    cells = [
        StateCell(
            items[cell.item],
            *page.body.columns[cell.column],
            cell.clicks,
            cell.skips,
            page.body.segments[cell.segment] or None,
        )
        for cell in counts.cells
        if cell.clicks > 0.0 or cell.skips > 0.0
    ]
    return Answer(200, State(cells, counts.displays), {"etag": f'"{counts.revision}"'})


async def put(call: Call) -> Answer:
    """Take these counts for all that was learnt; displays issued before count no more."""
    model = await call.service.model(call.path["page"])
    state = decode(_state, call.content)
    body = model.page.body
    columns = {column: number for number, column in enumerate(body.columns)}
    segments = {segment: number for number, segment in enumerate(body.segments)}
    cells = [_cell(k, cell, model.items, columns, segments) for k, cell in enumerate(state.counts)]
    if len({cell[:3] for cell in cells}) < len(cells):
        raise Problem(422, "an item is counted twice at the same position", [("/counts", "a cell is given twice")])
    revision = await call.service.import_counts(model, cells, state.displays, call.if_match())
    return Answer(204, headers={"etag": f'"{revision}"'})


def _cell(
    k: int,
    cell: StateCell,
    items: Mapping[str, int],
    columns: Mapping[tuple[str, str], int],
    segments: Mapping[str, int],
) -> CellCounts:
    """The cell by its numbers."""
    if cell.item not in items:
        raise Problem(422, f"there is no item {cell.item!r} on this page", [(f"/counts/{k}/item", "unknown item")])
    column = columns.get((cell.layout, cell.position))
    if column is None:
        line = f"there is no layout {cell.layout!r} with a position {cell.position!r}"
        raise Problem(422, line, [(f"/counts/{k}/position", line)])
    segment = cell.segment or ""
    if segment not in segments:
        raise Problem(422, f"there is no segment {segment!r}", [(f"/counts/{k}/segment", "unknown segment")])
    return CellCounts(items[cell.item], segments[segment], column, cell.clicks, cell.skips)


_STATE = "/v1/pages/{page}/state"
ROUTES = [
    Route("GET", _STATE, "get_state", "Export the counts.", get, {200: ("the counts", State)}, NOT_FOUND, tag="learnt"),
    Route(
        "PUT", _STATE, "put_state", "Import counts in place of all that was learnt.", put, {204: ("imported", None)},
        {**NOT_FOUND, **STALE}, State, parameters=(IF_MATCH,), most_bytes=LARGE, tag="learnt",
    ),
]  # fmt: skip
