"""State: export and import the counts of a page as one JSON document. They are keyed by names."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from slotwise.service.api.route import IF_MATCH, LARGE, NOT_FOUND, STALE, Call, Response, Route, etag
from slotwise.service.api.state_cells import CellNumbers, Count, StateCell, StoredState, read_state
from slotwise.service.background_threads import empty_list, run_in_background
from slotwise.service.errors import NotFound

MOST_CELLS = 200_000  # in one document; `state_lines` has no such limit


class PageState(Struct, forbid_unknown_fields=True):
    """All counts of a page."""

    counts: Annotated[list[StateCell], Meta(max_length=MOST_CELLS)]
    displays: Count
    format: Literal["slotwise-state"] = "slotwise-state"
    version: Literal[1] = 1


async def get(call: Call[None]) -> Response:
    """Export the counts. The ETag is the revision of the counts."""
    state = await read_stored(call)
    return Response(200, lambda: PageState(list(state.cells()), state.displays), etag(state.revision))


async def put(call: Call[PageState]) -> Response:
    """Replace all counts. The page learns no longer from displays issued before."""
    state = call.body
    try:
        model = await call.service.model(call.path["page"])
        numbers = CellNumbers(model)
        rows = (numbers.row(cell, f"/counts/{k}") for k, cell in enumerate(state.counts))
        cells = await run_in_background(numbers.array, rows)  # there may be very many
    finally:
        await run_in_background(empty_list, state.counts)
    revision = await call.service.import_counts(model, cells, state.displays, call.if_match(), call.author)
    return Response(204, headers=etag(revision))


async def read_stored(call: Call[None]) -> StoredState:
    """The counts after everything that was committed before the call."""
    name = (await call.service.model(call.path["page"])).page.name
    reader = await call.service.store.begin_read()
    state = await run_in_background(reader.read, lambda ledger: read_state(ledger, name))
    if state is None:
        raise NotFound(f"there is no page {name!r}")
    return state


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
