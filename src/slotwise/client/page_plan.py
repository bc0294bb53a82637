"""Find what has to change so that a page matches its file. The two are compared field by field, without any request."""

from typing import Any, NamedTuple

import msgspec

from slotwise.client.page_file import PageFile, Pins
from slotwise.client.pages import pin_text, pinned_item
from slotwise.service.pages.page_definition import ItemSpec, PageSpec

PinPosition = tuple[str, str]  # (layout, position)


class PagePlan(NamedTuple):
    """The changes to make, and the same changes as lines of text."""

    spec: PageSpec | None  # None: the settings stay
    items: dict[str, dict[str, Any]]  # to create or to replace, each with all its fields
    retired: list[str]
    unpinned: list[PinPosition]
    pinned: dict[PinPosition, Any]
    lines: list[str]
    unnamed: list[str]  # items, states and pins that the file does not name; they stay as they are


def plan(before: Any, file: PageFile, exact: bool = False) -> PagePlan:
    """Compare a page, as the service returns it, with a file. `before` is None if the page does not exist.

    With `exact`, items and pins that the file does not name are retired or removed, and items whose state the file does
    not give become active. Without `exact`, items that a merchandiser paused or retired stay as they are, and so do
    pins.
    """
    rows = {row["item"]: row for row in ([] if before is None else before["items"])}
    pins = _current_pins(file.spec, {} if before is None else before["pins"])
    wanted_pins = _by_position(file.pins)
    extra_items = [name for name, row in rows.items() if name not in file.items and row["state"] != "retired"]
    extra_pins = [where for where in pins if where not in wanted_pins]
    settings = _setting_lines(before, file)
    wanted = {name: item_fields(spec) for name, spec in file.items.items()}
    kept_states = [] if exact else _states_to_keep(rows, file)
    for name in kept_states:
        wanted[name]["state"] = rows[name]["state"]
    items = {name: line for name, fields in wanted.items() if (line := _item_line(name, rows.get(name), fields))}
    unpinned = [where for where in pins if (where in extra_pins and exact) or _is_moved(where, pins, wanted_pins)]
    pinned = {where: pin for where, pin in wanted_pins.items() if pins.get(where) != pin}
    lines = [*settings, *items.values()]
    if exact:
        lines += [f"item {name}, {_difference('state', rows[name]['state'], 'retired')}" for name in extra_items]
    lines += [f"pin {_pin_name(where)}: {pin_text(pins[where])} removed" for where in unpinned]
    lines += [f"pin {_pin_name(where)}: {pin_text(pin)}" for where, pin in pinned.items()]
    unnamed = [f"item {name}" for name in extra_items] + [f"pin {_pin_name(where)}" for where in extra_pins]
    unnamed += [f"item {name}, state: {_format_json(rows[name]['state'])}" for name in kept_states]
    return PagePlan(
        spec=file.spec if settings else None,
        items={name: wanted[name] for name in items},
        retired=extra_items if exact else [],
        unpinned=unpinned,
        pinned=pinned,
        lines=lines,
        unnamed=[] if exact else unnamed,
    )


def item_fields(spec: ItemSpec) -> dict[str, Any]:
    """The definition of an item in the form the service returns it, with all defaults."""
    return {name: msgspec.to_builtins(getattr(spec, name)) for name in ItemSpec.__struct_fields__}


def _setting_lines(before: Any, file: PageFile) -> list[str]:
    wanted, defaults = _settings(file.spec), _settings(PageSpec())
    if before is None:
        return [", ".join([f"page {file.page} created", *_fields(wanted, defaults)])]
    return [_difference(name, before.get(name), value) for name, value in wanted.items() if before.get(name) != value]


def _states_to_keep(rows: dict[str, Any], file: PageFile) -> list[str]:
    """The items that are paused or retired on the page, and whose state the file does not give."""
    return [
        name for name in file.items if name in rows and name not in file.with_state and rows[name]["state"] != "active"
    ]


def _item_line(name: str, before: Any, wanted: dict[str, Any]) -> str:
    """The differences of an item as one line, or an empty string if there are none."""
    if before is None:
        return ", ".join([f"item {name} created", *_fields(wanted, item_fields(ItemSpec()))])
    differences = [_difference(key, before.get(key), wanted[key]) for key in wanted if before.get(key) != wanted[key]]
    return ", ".join([f"item {name}", *differences]) if differences else ""


def _settings(spec: PageSpec) -> dict[str, Any]:
    """A definition in the form the service returns it, with all defaults."""
    plain = {name: getattr(spec, name) for name in PageSpec.__struct_fields__ if name != "positions"}
    return plain | {"layouts": spec.all_layouts(), "retention": spec.keep_seconds()}


def _current_pins(spec: PageSpec, pins: Pins) -> dict[PinPosition, Any]:
    """The current pins, except pins of positions that the new definition removes."""
    layouts = spec.all_layouts()
    return {where: pin for where, pin in _by_position(pins).items() if where[1] in layouts.get(where[0], [])}


def _by_position(pins: Pins) -> dict[PinPosition, Any]:
    return {(layout, position): pin for layout, pinned in pins.items() for position, pin in pinned.items()}


def _is_moved(where: PinPosition, pins: dict[PinPosition, Any], wanted: dict[PinPosition, Any]) -> bool:
    """Whether the file pins this item to another position of the layout. If so, its current pin is removed first."""
    if wanted.get(where) == pins[where]:
        return False
    layout, item = where[0], pinned_item(pins[where])
    return any(other != where and other[0] == layout and pinned_item(pin) == item for other, pin in wanted.items())


def _fields(values: dict[str, Any], defaults: dict[str, Any]) -> list[str]:
    return [f"{name}: {_format_json(value)}" for name, value in values.items() if value != defaults[name]]


def _difference(name: str, before: Any, after: Any) -> str:
    return f"{name}: {_format_json(before)} -> {_format_json(after)}"


def _pin_name(where: PinPosition) -> str:
    return "/".join(where)


def _format_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
