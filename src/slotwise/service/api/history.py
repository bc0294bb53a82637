"""The history of a page: every change of its definition. The history of the store: keys, and deleted pages."""

from typing import Annotated

from msgspec import Meta, Struct

from slotwise.service.api.route import NOT_FOUND, Call, Parameter, Response, Route
from slotwise.service.history import STORE, Change
from slotwise.service.store.ledger import KeyLedger

PAGE_SIZE = 100
_Number = Annotated[str, Meta(pattern=r"^[0-9]{1,18}$(?!\n)", description="a whole number")]
_BEFORE = Parameter("before", "query", _Number, "only changes with a lower number; the field `next` of the last answer")


class History(Struct):
    """Changes, newest first. `next` is null at the end; otherwise pass it as `before` to get older changes."""

    changes: list[Change]
    next: int | None


async def get(call: Call[None]) -> Response:
    """The changes of the definition of a page, with the key that each was made with."""
    return await _history(call, (await call.service.model(call.path["page"])).page.number)


async def get_store(call: Call[None]) -> Response:
    """The changes of keys, and the pages that were deleted for good."""
    return await _history(call, STORE)


async def _history(call: Call[None], page: int) -> Response:
    before = int(call.query["before"]) if "before" in call.query else None
    return Response(200, await call.service.store.read(lambda ledger: read_history(ledger, page, before)))


def read_history(ledger: KeyLedger, page: int, before: int | None) -> History:
    """The next changes of a page, or of the store."""
    changes = ledger.history(page, 10**18 if before is None else before, PAGE_SIZE + 1)
    shown = changes[:PAGE_SIZE]
    return History(shown, shown[-1].number if len(changes) > PAGE_SIZE else None)


ROUTES = [
    Route(
        "GET", "/v1/history", "get_store_history", "Who changed keys or deleted pages for good, and when.", get_store,
        {200: ("up to 100 changes", History)}, parameters=(_BEFORE,), tag="keys", needs="admin", large=True,
    ),
    Route(
        "GET", "/v1/pages/{page}/history", "get_history", "Who changed the definition, when and how.", get,
        {200: ("up to 100 changes", History)}, NOT_FOUND, parameters=(_BEFORE,), needs="read", large=True,
        accepts_session=True,
    ),
]  # fmt: skip
