"""Pages: define, read, change, archive; and the pins of merchandisers."""

from typing import Any

import msgspec
from msgspec import Struct

from slotwise.service.api.route import IF_MATCH, NOT_FOUND, STALE, Answer, Call, Route, decode, page_name, refuse
from slotwise.service.http.problems import Problem
from slotwise.service.pages.limits import ItemName
from slotwise.service.pages.page import NO_PAGE, ItemSpec, PageBody, PagePatch, PageSpec, check_page
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.interface import StoredPage


class ItemView(ItemSpec, omit_defaults=False, kw_only=True):
    """An item of a page."""

    item: str


class PageView(Struct):
    """A page: its definition with every default filled in, its pins and its items."""

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
    holdout_order: str
    half_life: float | None
    pins: dict[str, dict[str, str]]
    items: list[ItemView]


class PageList(Struct):
    """The pages there are."""

    pages: list[str]


class Pin(Struct, forbid_unknown_fields=True):
    """An item that stands at a position."""

    item: ItemName


_spec, _patch = msgspec.json.Decoder(PageSpec), msgspec.json.Decoder(PagePatch)
_pin = msgspec.json.Decoder(Pin)


async def put(call: Call) -> Answer:
    """Define a page, or define it anew; what was learnt is kept."""
    name, spec = page_name(call), decode(_spec, call.content)
    refuse(check_page(spec))
    await call.service.prepare(spec)  # meanwhile the page is served as it was
    saved, fresh = await call.service.save_page(name, lambda page: _body(page).with_spec(spec), call.if_match())
    return await _shown(call, saved, 201 if fresh else 200)


async def patch(call: Call) -> Answer:
    """Change parts of a page."""
    model = await call.service.model(call.path["page"])
    changes = decode(_patch, call.content)
    wanted = changes.applied(model.page.body.spec)
    refuse(check_page(wanted))
    await call.service.prepare(wanted)

    def change(page: StoredPage | None) -> PageBody:
        body = _present(page)
        spec = changes.applied(body.spec)
        refuse(check_page(spec))  # of the page as it is now: another change may have come in between
        return body.with_spec(spec)

    saved, _ = await call.service.save_page(model.page.name, change, call.if_match())
    return await _shown(call, saved, 200)


async def get(call: Call) -> Answer:
    """Read a page."""
    model = await call.service.model(call.path["page"])
    return Answer(200, _view(model), _etag(model.page))


async def delete(call: Call) -> Answer:
    """Archive a page: it is served no more; defining it again brings it back with what was learnt."""
    model = await call.service.model(call.path["page"])
    await call.service.save_page(model.page.name, _present, call.if_match(), archived=True)
    return Answer(204)


async def list_pages(call: Call) -> Answer:
    """The pages there are."""
    return Answer(200, PageList(await call.service.store.read(lambda ledger: ledger.page_names())))


async def put_pin(call: Call) -> Answer:
    """Let an item stand at a position."""
    model, (layout, position) = await _pinned_place(call)
    item = decode(_pin, call.content).item
    if item not in model.items:
        raise Problem(422, f"there is no item {item!r} on this page", [("/item", "unknown item")])

    def change(page: StoredPage | None) -> PageBody:
        body = _present(page)
        pins = dict(body.pins.get(layout, {}))
        elsewhere = [where for where, what in pins.items() if what == item and where != position]
        if elsewhere:
            raise Problem(409, f"item {item!r} is pinned at {elsewhere[0]!r} already; unpin it there first")
        return msgspec.structs.replace(body, pins=body.pins | {layout: pins | {position: item}})

    saved, _ = await call.service.save_page(model.page.name, change, call.if_match())
    return await _shown(call, saved, 200)


async def delete_pin(call: Call) -> Answer:
    """Let learning decide about a position again."""
    model, (layout, position) = await _pinned_place(call)

    def change(page: StoredPage | None) -> PageBody:
        body = _present(page)
        if position not in body.pins.get(layout, {}):
            return body
        pins = {where: what for where, what in body.pins[layout].items() if where != position}
        return msgspec.structs.replace(body, pins=body.pins | {layout: pins})

    await call.service.save_page(model.page.name, change, call.if_match())
    return Answer(204)


async def _pinned_place(call: Call) -> tuple[PageModel, tuple[str, str]]:
    model = await call.service.model(call.path["page"])
    layout, position = call.path["layout"], call.path["position"]
    if position not in model.page.body.spec.all_layouts().get(layout, []):
        raise Problem(404, f"the page has no layout {layout!r} with a position {position!r}")
    return model, (layout, position)


async def _shown(call: Call, saved: StoredPage, status: int) -> Answer:
    return Answer(status, _view(await call.service.model(saved.name)), _etag(saved))


def _body(page: StoredPage | None) -> PageBody:
    return NO_PAGE if page is None else page.body


def _present(page: StoredPage | None) -> PageBody:
    """The page as it is now; another call may have archived it since it was looked up, and it must stay so."""
    if page is None or page.archived:
        raise Problem(404, "the page was archived meanwhile")
    return page.body


def _etag(page: StoredPage) -> dict[str, str]:
    return {"etag": f'"{page.version}"'}


def _view(model: PageModel) -> PageView:
    spec, body = model.page.body.spec, model.page.body
    plain = {name: getattr(spec, name) for name in PageSpec.__struct_fields__ if name not in ("positions", "layouts")}
    return PageView(
        page=model.page.name,
        version=model.page.version,
        layouts=spec.all_layouts(),
        pins={layout: pins for layout, pins in body.pins.items() if pins},
        items=[
            ItemView(item=name, **{field: getattr(model.specs[k], field) for field in ItemSpec.__struct_fields__})
            for name, k in model.items.items()
        ],
        **plain | {"retention": spec.keep_seconds()},
    )


_PAGE, _PINS = "/v1/pages/{page}", "/v1/pages/{page}/pins/{layout}/{position}"
_SHOWN = {200: ("the page", PageView)}
_CONFLICT = {409: "the item is pinned at another position of this layout"}
ROUTES = [
    Route("GET", "/v1/pages", "list_pages", "The pages there are.", list_pages, {200: ("their names", PageList)}),
    Route(
        "PUT", _PAGE, "put_page", "Define a page; what was learnt is kept.", put, {201: ("made", PageView), **_SHOWN},
        STALE, PageSpec, parameters=(IF_MATCH,),
    ),
    Route("GET", _PAGE, "get_page", "Read a page.", get, _SHOWN, NOT_FOUND),
    Route(
        "PATCH", _PAGE, "patch_page", "Change parts of a page.", patch, _SHOWN, {**NOT_FOUND, **STALE}, PagePatch,
        ("application/json", "application/merge-patch+json"), (IF_MATCH,),
    ),
    Route(
        "DELETE", _PAGE, "delete_page", "Archive a page; what was learnt is kept.", delete, {204: ("archived", None)},
        {**NOT_FOUND, **STALE}, parameters=(IF_MATCH,),
    ),
    Route(
        "PUT", _PINS, "put_pin", "Let an item stand at a position.", put_pin, _SHOWN,
        {**NOT_FOUND, **_CONFLICT, **STALE}, Pin, parameters=(IF_MATCH,),
    ),
    Route(
        "DELETE", _PINS, "delete_pin", "Let learning decide again.", delete_pin, {204: ("unpinned", None)},
        {**NOT_FOUND, **STALE}, parameters=(IF_MATCH,),
    ),
]  # fmt: skip
