"""Define, read, change and archive pages, and pin items to positions."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from slotwise.service.api.items import PageItem
from slotwise.service.api.route import IF_MATCH, MERGE_PATCH, NOT_FOUND, STALE, Call, Parameter, Response, Route, etag
from slotwise.service.errors import (
    PAGE_ARCHIVED,
    Conflict,
    DoesNotFit,
    FieldError,
    Forbidden,
    NotFound,
    raise_field_errors,
)
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.pages.limits import Name
from slotwise.service.pages.page_checks import check_page
from slotwise.service.pages.page_definition import NO_PAGE, PageBody, PagePatch, PageSpec, Pin
from slotwise.service.pages.page_features import Declared
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.page_pins import check_pin, overlap, page_pin, pinned_item
from slotwise.service.store.records import StoredPage


class PageView(Struct):
    """A page: its definition with all defaults filled in, its pins and its items."""

    page: str
    version: int
    layouts: dict[str, list[str]]
    segments: list[str]
    policy: str
    params: dict[str, Any]
    mode: str
    count: str
    click_window: float
    retention: float
    default_order: list[str]
    holdout: float
    learnt_share: float
    holdout_order: str
    half_life: float | None
    template: str | None
    most_per_category: int | None
    propensities: bool
    features: Declared
    pins: dict[str, dict[str, str | Pin]]
    items: list[PageItem]


class PageList(Struct):
    """The names of all pages."""

    pages: list[str]


async def put(call: Call[PageSpec]) -> Response:
    """Define a page, or define it again. Its counts are kept."""
    name, spec = call.path["page"], call.body
    _check(spec)
    await call.service.prepare(spec)  # until this returns, the old definition of the page is used

    def change(page: StoredPage | None) -> PageBody:
        body = _body(page)
        _check_template(call.key, body.spec, spec)
        return body.with_spec(spec)

    saved, is_new = await call.service.save_page(name, change, call.if_match(), author=call.author)
    return await _page_response(call, saved, 201 if is_new else 200)


async def patch(call: Call[PagePatch]) -> Response:
    """Change some fields of a page."""
    model, changes = await call.service.model(call.path["page"]), call.body
    wanted = changes.applied(model.page.body.spec)
    _check(wanted)
    await call.service.prepare(wanted)

    def change(page: StoredPage | None) -> PageBody:
        body = _current_body(page)
        spec = changes.applied(body.spec)
        _check(spec)  # check again, because another request may have changed the page meanwhile
        _check_template(call.key, body.spec, spec)
        return body.with_spec(spec)

    saved, _ = await call.service.save_page(model.page.name, change, call.if_match(), author=call.author)
    return await _page_response(call, saved, 200)


async def get(call: Call[None]) -> Response:
    """Read a page."""
    model = await call.service.model(call.path["page"])
    return Response(200, page_view(model), etag(model.page.version))


async def delete(call: Call[None]) -> Response:
    """Archive a page: it is no longer served. Defining it again brings it back with its counts.

    With the query parameter `purge`, delete it for good, even if it is archived.
    """
    if "purge" in call.query:
        return await _purge(call)
    model = await call.service.model(call.path["page"])
    await call.service.save_page(model.page.name, _current_body, call.if_match(), archived=True, author=call.author)
    return Response(204)


async def _purge(call: Call[None]) -> Response:
    name, confirmed = call.path["page"], call.query["purge"]
    if confirmed != name:
        raise DoesNotFit(f"purge = {confirmed!r} is not the name of the page; to confirm, repeat it: purge={name}")
    await call.service.purge_page(name, call.if_match(), call.author)
    return Response(202)


async def list_pages(call: Call[None]) -> Response:
    """The names of all pages that are not archived, and that the key is for."""
    names = await call.service.store.read(lambda ledger: ledger.page_names())
    allowed = (
        names if call.key is None or call.key.pages is None else [name for name in names if name in call.key.pages]
    )
    return Response(200, PageList(allowed))


async def put_pin(call: Call[Pin]) -> Response:
    """Pin an item to a position, always or for a time."""
    raise_field_errors(check_pin(call.body))
    model, (layout, position) = await _find_position(call)
    item, pin = call.body.item, page_pin(call.body)
    if item not in model.items:
        raise DoesNotFit(f"there is no item {item!r} on this page", [FieldError("/item", "unknown item")])

    def change(page: StoredPage | None) -> PageBody:
        body = _current_body(page)
        pins = dict(body.pins.get(layout, {}))
        elsewhere = [other for other, pinned in pins.items() if pinned_item(pinned) == item and overlap(pinned, pin)]
        elsewhere = [other for other in elsewhere if other != position]
        if elsewhere:
            raise Conflict(f"item {item!r} is already pinned to {elsewhere[0]!r}; unpin it there first")
        return msgspec.structs.replace(body, pins=body.pins | {layout: pins | {position: pin}})

    saved, _ = await call.service.save_page(model.page.name, change, call.if_match(), author=call.author)
    return await _page_response(call, saved, 200)


async def delete_pin(call: Call[None]) -> Response:
    """Unpin a position, if something is pinned to it."""
    model, (layout, position) = await _find_position(call)

    def change(page: StoredPage | None) -> PageBody:
        body = _current_body(page)
        if position not in body.pins.get(layout, {}):
            return body
        pins = {other: pinned for other, pinned in body.pins[layout].items() if other != position}
        return msgspec.structs.replace(body, pins=body.pins | {layout: pins})

    saved, _ = await call.service.save_page(model.page.name, change, call.if_match(), author=call.author)
    return Response(204, headers=etag(saved.version))


async def _find_position(call: Call[Any]) -> tuple[PageModel, tuple[str, str]]:
    model = await call.service.model(call.path["page"])
    layout, position = call.path["layout"], call.path["position"]
    if position not in model.page.body.spec.all_layouts().get(layout, []):
        raise NotFound(f"the page has no layout {layout!r} with a position {position!r}")
    return model, (layout, position)


async def _page_response(call: Call[Any], saved: StoredPage, status: int) -> Response:
    return Response(status, page_view(await call.service.model(saved.name)), etag(saved.version))


def _body(page: StoredPage | None) -> PageBody:
    return NO_PAGE if page is None else page.body


def _check(spec: PageSpec) -> None:
    raise_field_errors(check_page(spec))


def _check_template(key: ApiKey | None, before: PageSpec, after: PageSpec) -> None:
    """A page learns from the other pages of its template, and they from it. So a key for some pages may not join it."""
    if key is not None and key.pages is not None and after.template not in (None, before.template):
        raise Forbidden(
            f"to give a page a template needs a key for all pages; the key {key.id} is for some only", key.id
        )


def _current_body(page: StoredPage | None) -> PageBody:
    """The body of a page in the store. Raises NotFound if another request has archived the page in the meantime."""
    if page is None or page.archived:
        raise NotFound(PAGE_ARCHIVED)
    return page.body


def page_view(model: PageModel) -> Callable[[], PageView]:
    """A function that makes the view on a background thread, from a copy of the items."""
    page, names, specs = model.page, list(model.names), list(model.specs)
    spec, body = page.body.spec, page.body
    settings = {name: value for name, value in msgspec.structs.asdict(spec).items() if name != "positions"}
    return lambda: PageView(
        page=page.name,
        version=page.version,
        pins={layout: pins for layout, pins in body.pins.items() if pins},
        items=[PageItem(item=name, **msgspec.structs.asdict(item)) for name, item in zip(names, specs, strict=True)],
        **settings | {"layouts": spec.all_layouts(), "retention": spec.keep_seconds()},
    )


_PAGE, _PINS = "/v1/pages/{page}", "/v1/pages/{page}/pins/{layout}/{position}"
_PAGE_RESPONSE = {200: ("the page", PageView)}
_PURGE = Parameter("purge", "query", Name, "the name of the page, to confirm that the page is deleted for good")
_CONFLICT = {409: "the item is pinned to another position of this layout at the same time"}
ROUTES = [
    Route(
        "GET", "/v1/pages", "list_pages", "List all pages.", list_pages, {200: ("their names", PageList)},
        needs="read", checks_pages=True, accepts_session=True,
    ),
    Route(
        "PUT", _PAGE, "put_page", "Define a page; its counts are kept.", put,
        {201: ("created", PageView), **_PAGE_RESPONSE}, STALE, PageSpec, parameters=(IF_MATCH,), names_new="page",
        has_etag=True, large=True, needs="admin", accepts_session=True,
    ),
    Route(
        "GET", _PAGE, "get_page", "Read a page.", get, _PAGE_RESPONSE, NOT_FOUND, has_etag=True, large=True,
        needs="read", accepts_session=True,
    ),
    Route(
        "PATCH", _PAGE, "patch_page", "Change some fields of a page.", patch, _PAGE_RESPONSE,
        {**NOT_FOUND, **STALE}, PagePatch, MERGE_PATCH, (IF_MATCH,), has_etag=True, large=True,
        needs="admin", accepts_session=True,
    ),
    Route(
        "DELETE", _PAGE, "delete_page", "Archive a page, or delete it for good.", delete,
        {204: ("archived; its counts are kept", None), 202: ("deleted; its data are being removed", None)},
        {**NOT_FOUND, **STALE}, parameters=(IF_MATCH, _PURGE), needs="admin",
    ),
    Route(
        "PUT", _PINS, "put_pin", "Pin an item to a position.", put_pin, _PAGE_RESPONSE,
        {**NOT_FOUND, **_CONFLICT, **STALE}, Pin, parameters=(IF_MATCH,), has_etag=True, large=True,
        needs="admin", accepts_session=True,
    ),
    Route(
        "DELETE", _PINS, "delete_pin", "Unpin a position.", delete_pin, {204: ("unpinned", None)},
        {**NOT_FOUND, **STALE}, parameters=(IF_MATCH,), has_etag=True, needs="admin", accepts_session=True,
    ),
]  # fmt: skip
