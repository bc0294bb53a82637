"""Items of a page: add, change, retire, one by one or in batches."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import NOT_FOUND, Answer, Call, Route, checked_name, decode, refuse
from slotwise.service.http.problems import Problem
from slotwise.service.pages.limits import MOST_ROWS, ItemName
from slotwise.service.pages.page import ItemSpec, check_item


class ItemRow(ItemSpec, kw_only=True):
    """An item of a batch."""

    item: ItemName


class ItemBatch(Struct, forbid_unknown_fields=True):
    """Items to add or change."""

    items: Annotated[list[ItemRow], Meta(min_length=1, max_length=MOST_ROWS)]


class ItemResult(Struct):
    """What became of one row: `created`, `changed`, or `invalid` with the reason."""

    item: str
    status: str
    detail: str = ""


class ItemResults(Struct):
    """A result for each row, in order."""

    results: list[ItemResult]


_item, _batch = msgspec.json.Decoder(ItemSpec), msgspec.json.Decoder(ItemBatch)


async def put(call: Call) -> Answer:
    """Add or change an item; takes effect on the very next recommendation."""
    await call.service.model(call.path["page"])
    name, spec = checked_name(ItemName, call.path["item"]), decode(_item, call.content or b"{}")
    refuse(check_item(spec))
    (fresh,) = await _saved(call, [(name, spec)])
    if isinstance(fresh, str):
        raise Problem(422, fresh, [("", fresh)])
    return Answer(201 if fresh else 200, _result(name, fresh))


async def delete(call: Call) -> Answer:
    """Retire an item: it is shown no more, what was learnt of it is kept."""
    model = await call.service.model(call.path["page"])
    name = call.path["item"]
    if name not in model.items:
        raise Problem(404, f"there is no item {name!r} on this page")
    await _saved(call, [(name, msgspec.structs.replace(model.specs[model.items[name]], state="retired"))])
    return Answer(204)


async def batch(call: Call) -> Answer:
    """Add or change many items; a row that is wrong does not spoil the others."""
    await call.service.model(call.path["page"])
    rows = decode(_batch, call.content).items
    wrong = {k: problems[0][1] for k, row in enumerate(rows) if (problems := check_item(row))}
    good = [(row.item, _plain(row)) for k, row in enumerate(rows) if k not in wrong]
    saved = iter(await _saved(call, good) if good else [])
    results = [_result(row.item, wrong[k] if k in wrong else next(saved)) for k, row in enumerate(rows)]
    return Answer(200, ItemResults(results))


def _result(item: str, fresh: bool | str) -> ItemResult:
    if isinstance(fresh, str):
        return ItemResult(item, "invalid", fresh)
    return ItemResult(item, "created" if fresh else "changed")


async def _saved(call: Call, items: list[tuple[str, ItemSpec]]) -> list[bool | str]:
    return await call.service.save_items(await call.service.model(call.path["page"]), items)


def _plain(row: ItemRow) -> ItemSpec:
    return ItemSpec(**{name: getattr(row, name) for name in ItemSpec.__struct_fields__})


_ITEM = "/v1/pages/{page}/items/{item}"
ROUTES = [
    Route(
        "PUT", _ITEM, "put_item", "Add or change an item; takes effect at once.", put,
        {201: ("added", ItemResult), 200: ("changed", ItemResult)}, NOT_FOUND, ItemSpec,
        body_optional=True,
    ),
    Route(
        "DELETE", _ITEM, "delete_item", "Retire an item; what was learnt of it is kept.", delete,
        {204: ("retired", None)}, {404: "no such page or item"},
    ),
    Route(
        "POST", "/v1/pages/{page}/items:batch", "put_items", "Add or change many items.", batch,
        {200: ("a result for each row", ItemResults)}, NOT_FOUND, ItemBatch,
    ),
]  # fmt: skip
