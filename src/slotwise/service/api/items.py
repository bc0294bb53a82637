"""Items of a page: add, change and retire them, one by one or in batches."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import IF_MATCH, MERGE_PATCH, NOT_FOUND, STALE, Call, Response, Route, etag
from slotwise.service.errors import raise_field_errors
from slotwise.service.pages.limits import MOST_ROWS, ItemName
from slotwise.service.pages.page_checks import check_item
from slotwise.service.pages.page_definition import ItemPatch, ItemSpec, given_fields
from slotwise.service.store.records import StoredItem


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


async def get(call: Call[None]) -> Response:
    """Read an item."""
    model = await call.service.model(call.path["page"])
    return _item_response(await call.service.item(model, call.path["item"]))


async def put(call: Call[ItemSpec]) -> Response:
    """Add an item or replace its definition. The next recommendation uses the new definition."""
    model, spec = await call.service.model(call.path["page"]), call.body
    raise_field_errors(check_item(spec))
    name, condition = call.path["item"], call.if_match()
    saved, is_new = await call.service.change_item(
        model, name, lambda _: spec, condition, create=True, author=call.author
    )
    return Response(201 if is_new else 200, _result(saved.name, is_new), etag(saved.version))


async def patch(call: Call[ItemPatch]) -> Response:
    """Change some fields of an item."""
    model, changes = await call.service.model(call.path["page"]), call.body

    def change(before: ItemSpec) -> ItemSpec:
        spec = changes.applied(before)
        raise_field_errors(check_item(spec, given_fields(changes)))
        return spec

    saved, _ = await call.service.change_item(model, call.path["item"], change, call.if_match(), author=call.author)
    return _item_response(saved)


async def delete(call: Call[None]) -> Response:
    """Retire an item: it is no longer shown, but its counts are kept."""
    model = await call.service.model(call.path["page"])

    def change(before: ItemSpec) -> ItemSpec:
        return msgspec.structs.replace(before, state="retired")

    saved, _ = await call.service.change_item(model, call.path["item"], change, call.if_match(), author=call.author)
    return Response(204, headers=etag(saved.version))


async def put_batch(call: Call[ItemBatch]) -> Response:
    """Add or change many items. If one item is invalid, the others are still saved."""
    model = await call.service.model(call.path["page"])
    rows = call.body.items
    invalid = {k: problems[0].detail for k, row in enumerate(rows) if (problems := check_item(row))}
    valid = [(row.item, _spec(row)) for k, row in enumerate(rows) if k not in invalid]
    saved = iter(await call.service.save_items(model, valid, call.author) if valid else [])
    results = [_result(row.item, invalid[k] if k in invalid else next(saved)) for k, row in enumerate(rows)]
    return Response(200, ItemResults(results))


def _item_response(item: StoredItem) -> Response:
    return Response(200, PageItem(item=item.name, **msgspec.structs.asdict(item.spec)), etag(item.version))


def _result(item: str, saved: bool | str) -> ItemResult:
    """The result for one item. `saved` says whether the item is new, or why it was not saved."""
    if isinstance(saved, str):
        return ItemResult(item, "invalid", saved)
    return ItemResult(item, "created" if saved else "changed")


def _spec(row: PageItem) -> ItemSpec:
    """The definition without the name, as the store keeps it."""
    return msgspec.convert(row, ItemSpec, from_attributes=True)


_ITEM = "/v1/pages/{page}/items/{item}"
_NO_ITEM = {404: "no such page or item"}
ROUTES = [
    Route(
        "GET", _ITEM, "get_item", "Read an item.", get, {200: ("the item", PageItem)}, _NO_ITEM, has_etag=True,
        needs="read", accepts_session=True,
    ),
    Route(
        "PUT", _ITEM, "put_item", "Add an item or replace its definition; takes effect at once.", put,
        {201: ("added", ItemResult), 200: ("changed", ItemResult)}, {**NOT_FOUND, **STALE}, ItemSpec,
        parameters=(IF_MATCH,), body_optional=True, names_new="item", has_etag=True, needs="admin",
        accepts_session=True,
    ),
    Route(
        "PATCH", _ITEM, "patch_item", "Change some fields of an item; null resets a field.", patch,
        {200: ("the item", PageItem)}, {**_NO_ITEM, **STALE}, ItemPatch, MERGE_PATCH, (IF_MATCH,), has_etag=True,
        needs="admin", accepts_session=True,
    ),
    Route(
        "DELETE", _ITEM, "delete_item", "Retire an item; its counts are kept.", delete,
        {204: ("retired", None)}, {**_NO_ITEM, **STALE}, parameters=(IF_MATCH,), has_etag=True, needs="admin",
        accepts_session=True,
    ),
    Route(
        "POST", "/v1/pages/{page}/items:batch", "put_items", "Add or change many items.", put_batch,
        {200: ("a result for each item", ItemResults)}, NOT_FOUND, ItemBatch,
        needs="admin",
    ),
]  # fmt: skip
