"""Items of a page: add, change and retire them, one by one or in batches."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import NOT_FOUND, Call, Response, Route
from slotwise.service.errors import DoesNotFit, NotFound, raise_field_errors
from slotwise.service.pages.limits import MOST_ROWS, ItemName
from slotwise.service.pages.page import ItemSpec
from slotwise.service.pages.page_checks import check_item


class PageItem(ItemSpec, omit_defaults=False, kw_only=True):
    """The definition of an item, with its name."""

    item: ItemName


class ItemBatch(Struct, forbid_unknown_fields=True):
    """Items to add or change."""

    items: Annotated[list[PageItem], Meta(min_length=1, max_length=MOST_ROWS)]


class ItemResult(Struct):
    """The result for one item: `created`, `changed`, or `invalid` with the reason."""

    item: str
    status: Literal["created", "changed", "invalid"]
    detail: str = ""


class ItemResults(Struct):
    """A result for each item, in order."""

    results: list[ItemResult]


async def put(call: Call[ItemSpec]) -> Response:
    """Add or change an item; the next recommendation uses it."""
    model = await call.service.model(call.path["page"])
    raise_field_errors(check_item(call.body))
    name = call.path["item"]
    (saved,) = await call.service.save_items(model, [(name, call.body)])
    if isinstance(saved, str):
        raise DoesNotFit.at("", saved)
    return Response(201 if saved else 200, _result(name, saved))


async def delete(call: Call[None]) -> Response:
    """Retire an item: it is no longer shown, but its counts are kept."""
    model = await call.service.model(call.path["page"])
    name = call.path["item"]
    if name not in model.items:
        raise NotFound(f"there is no item {name!r} on this page")
    retired = msgspec.structs.replace(model.specs[model.items[name]], state="retired")
    await call.service.save_items(model, [(name, retired)])
    return Response(204)


async def put_batch(call: Call[ItemBatch]) -> Response:
    """Add or change many items; an invalid one does not prevent the others."""
    model = await call.service.model(call.path["page"])
    rows = call.body.items
    invalid = {k: problems[0].detail for k, row in enumerate(rows) if (problems := check_item(row))}
    valid = [(row.item, _spec(row)) for k, row in enumerate(rows) if k not in invalid]
    saved = iter(await call.service.save_items(model, valid) if valid else [])
    results = [_result(row.item, invalid[k] if k in invalid else next(saved)) for k, row in enumerate(rows)]
    return Response(200, ItemResults(results))


def _result(item: str, saved: bool | str) -> ItemResult:
    """`saved` is whether the item is new, or why it was not saved."""
    if isinstance(saved, str):
        return ItemResult(item, "invalid", saved)
    return ItemResult(item, "created" if saved else "changed")


def _spec(row: PageItem) -> ItemSpec:
    """The definition without the name, as the store keeps it."""
    return msgspec.convert(row, ItemSpec, from_attributes=True)


_ITEM = "/v1/pages/{page}/items/{item}"
ROUTES = [
    Route(
        "PUT", _ITEM, "put_item", "Add or change an item; takes effect at once.", put,
        {201: ("added", ItemResult), 200: ("changed", ItemResult)}, NOT_FOUND, ItemSpec,
        body_optional=True, names_new="item",
    ),
    Route(
        "DELETE", _ITEM, "delete_item", "Retire an item; its counts are kept.", delete,
        {204: ("retired", None)}, {404: "no such page or item"},
    ),
    Route(
        "POST", "/v1/pages/{page}/items:batch", "put_items", "Add or change many items.", put_batch,
        {200: ("a result for each item", ItemResults)}, NOT_FOUND, ItemBatch,
    ),
]  # fmt: skip
