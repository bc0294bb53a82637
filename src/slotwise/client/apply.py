"""Apply a page file to a running service, changing only what differs."""

from typing import Any, NamedTuple

import msgspec

from slotwise.checks import BadInput
from slotwise.client.http_client import HttpClient, error_detail, path_of
from slotwise.client.page_file import PageFile, Pins
from slotwise.client.pages import fetch_page, save_items
from slotwise.service.pages.page import ItemSpec, PageSpec


class Applied(NamedTuple):
    """The changes that were made, and the items and pins of the page that the file does not name; one line each."""

    changes: list[str]
    unnamed: list[str]


def apply(client: HttpClient, file: PageFile, exact: bool = False) -> Applied:
    """Define the page, its items and its pins. With `exact`, retire and unpin what the file does not name."""
    before, etag = fetch_page(client, file.page)
    changes = _apply_spec(client, file, before, etag)
    extra_items = [row for row in (before or {}).get("items", []) if row["item"] not in file.items]
    changes += _apply_items(client, file, before, [row for row in extra_items if row["state"] != "retired"] * exact)
    current = _remaining_pins(file.spec, (before or {}).get("pins", {}))
    extra_pins = [
        (layout, position)
        for layout, pinned in current.items()
        for position in pinned
        if position not in file.pins.get(layout, {})
    ]
    changes += _apply_pins(client, file, current, extra_pins if exact else [])
    if exact:
        return Applied(changes, [])
    unnamed = [f"item {row['item']}" for row in extra_items if row["state"] != "retired"]
    return Applied(changes, unnamed + [f"pin {_pin_name(*pin)}" for pin in extra_pins])


def _apply_spec(client: HttpClient, file: PageFile, before: Any, etag: str | None) -> list[str]:
    wanted = _as_served(file.spec)
    differs = [name for name in wanted if before is None or before.get(name) != wanted[name]]
    if not differs:
        return []
    path = path_of("pages", file.page)
    reply = client.request("PUT", path, file.spec, **({} if etag is None else {"If_Match": etag}))
    if reply.status == 412:
        raise BadInput(f"page {file.page} was changed by another client in the meantime: try again")
    if reply.status >= 300:
        raise BadInput(f"{client.address.url} refuses page {file.page}: {error_detail(reply.body)}")
    if before is None:
        return [f"page {file.page} created"]
    return [f"{name}: {_format_json(before.get(name))} -> {_format_json(wanted[name])}" for name in differs]


def _as_served(spec: PageSpec) -> dict[str, Any]:
    """A definition in the form the service returns it, with all defaults."""
    plain = {name: getattr(spec, name) for name in PageSpec.__struct_fields__ if name != "positions"}
    return plain | {"layouts": spec.all_layouts(), "retention": spec.keep_seconds()}


def _apply_items(client: HttpClient, file: PageFile, before: Any, to_retire: list[Any]) -> list[str]:
    current = {row["item"]: row for row in (before or {}).get("items", [])}
    wanted = {name: _fields(spec) for name, spec in file.items.items()}
    wanted |= {row["item"]: {**_known_fields(row), "state": "retired"} for row in to_retire}
    rows, changes = [], []
    for name, fields in wanted.items():
        before_item = current.get(name)
        differs = [key for key in fields if before_item is not None and before_item.get(key) != fields[key]]
        if before_item is None:
            changes.append(f"item {name} created")
        elif differs:
            details = ", ".join(
                f"{key}: {_format_json(before_item.get(key))} -> {_format_json(fields[key])}" for key in differs
            )
            changes.append(f"item {name}, {details}")
        else:
            continue
        rows.append({"item": name, **{key: value for key, value in fields.items() if value is not None}})
    save_items(client, file.page, rows)
    return changes


def _fields(spec: ItemSpec) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(spec, name)) for name in ItemSpec.__struct_fields__}


def _known_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in ItemSpec.__struct_fields__}


def _remaining_pins(spec: PageSpec, pins: Pins) -> Pins:
    """The current pins, except at positions that the new definition removes."""
    layouts = spec.all_layouts()
    return {
        layout: {position: item for position, item in pinned.items() if position in layouts.get(layout, [])}
        for layout, pinned in pins.items()
    }


def _apply_pins(client: HttpClient, file: PageFile, current: Pins, extra: list[tuple[str, str]]) -> list[str]:
    """Remove pins, then add pins, because an item can be pinned to only one position of a layout."""
    moved = [
        (layout, position)
        for layout, pinned in file.pins.items()
        for position, item in current.get(layout, {}).items()
        if item in pinned.values() and pinned.get(position) != item
    ]
    changes = []
    for layout, position in dict.fromkeys(extra + moved):
        client.call("DELETE", path_of("pages", file.page, "pins", layout, position))
        changes.append(f"pin {_pin_name(layout, position)}: {current[layout][position]} removed")
    for layout, pinned in file.pins.items():
        for position, item in pinned.items():
            if current.get(layout, {}).get(position) != item:
                client.call("PUT", path_of("pages", file.page, "pins", layout, position), {"item": item})
                changes.append(f"pin {_pin_name(layout, position)}: {item}")
    return changes


def _pin_name(layout: str, position: str) -> str:
    return f"{layout}/{position}"


def _format_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
