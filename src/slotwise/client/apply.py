"""Bring a page of a running service to what a file says, changing only what differs."""

from typing import Any, NamedTuple

import msgspec

from slotwise.checks import BadInput
from slotwise.client.http_client import Remote, path_of, refusal
from slotwise.client.page_file import PageFile, Pins
from slotwise.client.pages import read, save_items
from slotwise.service.pages.page import ItemSpec, PageSpec


class Applied(NamedTuple):
    """What changed, and what the page has that the file does not name, one line each."""

    changes: list[str]
    unnamed: list[str]


def apply(remote: Remote, file: PageFile, exact: bool = False) -> Applied:
    """Define the page, its items and its pins. With `exact`, items and pins that the file does not name go too."""
    before, etag = read(remote, file.page)
    changes = _apply_spec(remote, file, before, etag)
    extra_items = [row for row in (before or {}).get("items", []) if row["item"] not in file.items]
    changes += _apply_items(remote, file, before, [row for row in extra_items if row["state"] != "retired"] * exact)
    present = _kept_pins(file.spec, (before or {}).get("pins", {}))
    extra_pins = [
        (layout, position)
        for layout, pinned in present.items()
        for position in pinned
        if position not in file.pins.get(layout, {})
    ]
    changes += _apply_pins(remote, file, present, extra_pins if exact else [])
    if exact:
        return Applied(changes, [])
    unnamed = [f"item {row['item']}" for row in extra_items if row["state"] != "retired"]
    return Applied(changes, unnamed + [f"pin {_place(*pin)}" for pin in extra_pins])


def _apply_spec(remote: Remote, file: PageFile, before: Any, etag: str | None) -> list[str]:
    wanted = _view(file.spec)
    differs = [name for name in wanted if before is None or before.get(name) != wanted[name]]
    if not differs:
        return []
    path = path_of("pages", file.page)
    reply = remote.ask("PUT", path, file.spec, **({} if etag is None else {"If_Match": etag}))
    if reply.status == 412:
        raise BadInput(f"page {file.page} was changed by somebody else meanwhile: try again")
    if reply.status >= 300:
        raise BadInput(f"{remote.address.url} refuses page {file.page}: {refusal(reply.body)}")
    if before is None:
        return [f"page {file.page} created"]
    return [f"{name}: {_shown(before.get(name))} -> {_shown(wanted[name])}" for name in differs]


def _view(spec: PageSpec) -> dict[str, Any]:
    """A definition as the service shows it, every default filled in."""
    plain = {name: getattr(spec, name) for name in PageSpec.__struct_fields__ if name != "positions"}
    return plain | {"layouts": spec.all_layouts(), "retention": spec.keep_seconds()}


def _apply_items(remote: Remote, file: PageFile, before: Any, to_retire: list[Any]) -> list[str]:
    present = {row["item"]: row for row in (before or {}).get("items", [])}
    wanted = {name: _fields(spec) for name, spec in file.items.items()}
    wanted |= {row["item"]: {**_known_fields(row), "state": "retired"} for row in to_retire}
    rows, changes = [], []
    for name, fields in wanted.items():
        was = present.get(name)
        differs = [key for key in fields if was is not None and was.get(key) != fields[key]]
        if was is None:
            changes.append(f"item {name} created")
        elif differs:
            what = ", ".join(f"{key}: {_shown(was.get(key))} -> {_shown(fields[key])}" for key in differs)
            changes.append(f"item {name}, {what}")
        else:
            continue
        rows.append({"item": name, **{key: value for key, value in fields.items() if value is not None}})
    save_items(remote, file.page, rows)
    return changes


def _fields(spec: ItemSpec) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(spec, name)) for name in ItemSpec.__struct_fields__}


def _known_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in ItemSpec.__struct_fields__}


def _kept_pins(spec: PageSpec, pins: Pins) -> Pins:
    """The pins that were there, without those of positions that went with the new definition."""
    layouts = spec.all_layouts()
    return {
        layout: {position: item for position, item in pinned.items() if position in layouts.get(layout, [])}
        for layout, pinned in pins.items()
    }


def _apply_pins(remote: Remote, file: PageFile, present: Pins, extra: list[tuple[str, str]]) -> list[str]:
    """Unpin first: an item stands at one position of a layout at most."""
    moved = [
        (layout, position)
        for layout, pinned in file.pins.items()
        for position, item in present.get(layout, {}).items()
        if item in pinned.values() and pinned.get(position) != item
    ]
    changes = []
    for layout, position in dict.fromkeys(extra + moved):
        remote.ok("DELETE", path_of("pages", file.page, "pins", layout, position))
        changes.append(f"pin {_place(layout, position)}: {present[layout][position]} taken away")
    for layout, pinned in file.pins.items():
        for position, item in pinned.items():
            if present.get(layout, {}).get(position) != item:
                remote.ok("PUT", path_of("pages", file.page, "pins", layout, position), {"item": item})
                changes.append(f"pin {_place(layout, position)}: {item}")
    return changes


def _place(layout: str, position: str) -> str:
    return f"{layout}/{position}"


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
