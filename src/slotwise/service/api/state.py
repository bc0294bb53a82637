"""State: export and import the counts of a page. They are keyed by the names of items and positions."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slotwise.service.api.route import IF_MATCH, LARGE, NOT_FOUND, STALE, Call, Response, Route, etag
from slotwise.service.background_threads import run_in_background
from slotwise.service.errors import DoesNotFit, FieldError, NotFound
from slotwise.service.pages.limits import ItemName, Name
from slotwise.service.pages.page_definition import PageBody
from slotwise.service.store.interface import CellCounts, Ledger, PageCounts, StoredPage

MOST_CELLS = 200_000
Count = Annotated[float, Meta(ge=0.0, le=1e12)]


class StateCell(Struct, forbid_unknown_fields=True):
    """Clicks and skips of an item at a position. `segment` is null for requests without a segment."""

    item: ItemName
    layout: Name
    position: Name
    clicks: Count
    skips: Count
    segment: Name | None = None


class PageState(Struct, forbid_unknown_fields=True):
    """All counts of a page."""

    counts: Annotated[list[StateCell], Meta(max_length=MOST_CELLS)]
    displays: Count
    format: Literal["slotwise-state"] = "slotwise-state"
    version: Literal[1] = 1


async def get(call: Call[None]) -> Response:
    """Export the counts. The ETag is the revision of the counts."""
    name = (await call.service.model(call.path["page"])).page.name

    def operation(ledger: Ledger) -> tuple[StoredPage, list[str], PageCounts]:
        page = ledger.page(name)
        if page is None:
            raise NotFound(f"there is no page {name!r}")
        return page, [item for item, _ in ledger.items(page.number)], ledger.counts(page.number)

    reader = await call.service.store.begin_read()
    page, items, counts = await run_in_background(reader.read, operation)
    return Response(200, lambda: _state(page, items, counts), etag(counts.revision))


def _state(page: StoredPage, items: list[str], counts: PageCounts) -> PageState:
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
    return PageState(cells, counts.displays)


async def put(call: Call[PageState]) -> Response:
    """Replace all counts. Displays that were issued before the import no longer count."""
    model, state = await call.service.model(call.path["page"]), call.body
    cells = await run_in_background(_cells, state, model.page.body, model.items)
    revision = await call.service.import_counts(model, cells, state.displays, call.if_match(), call.author)
    return Response(204, headers=etag(revision))


def _cells(state: PageState, body: PageBody, items: Mapping[str, int]) -> list[CellCounts]:
    """The cells with numbers instead of names. This runs on a background thread, because there may be very many."""
    columns = {column: number for number, column in enumerate(body.columns)}
    segments = {segment: number for number, segment in enumerate(body.segments)}
    cells = [_cell(k, cell, items, columns, segments) for k, cell in enumerate(state.counts)]
    if len({cell[:3] for cell in cells}) < len(cells):
        detail = "an item is counted twice at the same position"
        raise DoesNotFit(detail, [FieldError("/counts", "a cell is given twice")])
    return cells


def _cell(
    k: int,
    cell: StateCell,
    items: Mapping[str, int],
    columns: Mapping[tuple[str, str], int],
    segments: Mapping[str, int],
) -> CellCounts:
    """A cell with numbers instead of names. `k` is its index in the request."""
    if cell.item not in items:
        detail = f"there is no item {cell.item!r} on this page"
        raise DoesNotFit(detail, [FieldError(f"/counts/{k}/item", "unknown item")])
    column = columns.get((cell.layout, cell.position))
    if column is None:
        detail = f"there is no layout {cell.layout!r} with a position {cell.position!r}"
        raise DoesNotFit.at(f"/counts/{k}/position", detail)
    segment = cell.segment or ""
    if segment not in segments:
        detail = f"there is no segment {segment!r}"
        raise DoesNotFit(detail, [FieldError(f"/counts/{k}/segment", "unknown segment")])
    return CellCounts(items[cell.item], segments[segment], column, cell.clicks, cell.skips)


_STATE = "/v1/pages/{page}/state"
ROUTES = [
    Route(
        "GET", _STATE, "get_state", "Export the counts.", get, {200: ("the counts", PageState)}, NOT_FOUND,
        tag="learnt", has_etag=True, large=True, needs="read",
    ),
    Route(
        "PUT", _STATE, "put_state", "Replace all counts by imported ones.", put, {204: ("imported", None)},
        {**NOT_FOUND, **STALE}, PageState, parameters=(IF_MATCH,), max_bytes=LARGE, long_list="counts", tag="learnt",
        has_etag=True, needs="admin",
    ),
]  # fmt: skip
