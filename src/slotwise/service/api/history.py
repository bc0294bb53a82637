"""The history of a page: every change of its definition, newest first."""

from typing import Annotated

from msgspec import Meta, Struct

from slotwise.service.api.route import NOT_FOUND, Call, Parameter, Response, Route
from slotwise.service.history import Change

PAGE_SIZE = 100
_Number = Annotated[str, Meta(pattern=r"^[0-9]{1,18}$(?!\n)", description="a whole number")]
_BEFORE = Parameter("before", "query", _Number, "only changes with a lower number; the field `next` of the last answer")


class History(Struct):
    """Changes, newest first. `next` is null at the end; otherwise pass it as `before` to get older changes."""

    changes: list[Change]
    next: int | None


async def get(call: Call[None]) -> Response:
    """The changes of the definition of a page, with the key that each was made with."""
    number = (await call.service.model(call.path["page"])).page.number
    before = int(call.query.get("before", 10**18))
    changes = await call.service.store.read(lambda ledger: ledger.history(number, before, PAGE_SIZE + 1))
    shown = changes[:PAGE_SIZE]
    return Response(200, History(shown, shown[-1].number if len(changes) > PAGE_SIZE else None))


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/history", "get_history", "Who changed the definition, when and how.", get,
        {200: ("up to 100 changes", History)}, NOT_FOUND, parameters=(_BEFORE,), needs="read", large=True,
    ),
]  # fmt: skip
