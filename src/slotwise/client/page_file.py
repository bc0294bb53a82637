"""A page as a TOML file: settings, items and pins."""

import json
import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from slotwise.checks import BadInput
from slotwise.service.http.validation import describe_failure
from slotwise.service.pages.limits import ItemName, Name
from slotwise.service.pages.page_checks import check_item, check_page
from slotwise.service.pages.page_definition import DEFAULT_LAYOUT, ItemSpec, PagePin, PageSpec, Pin
from slotwise.service.pages.page_features import feature_problems
from slotwise.service.pages.page_pins import check_pin, overlap, page_pin, pinned_item

Pins = dict[str, dict[str, Any]]  # layout -> position -> pin, in the form in which the service returns it
_TIMES = ("valid_from", "valid_until")
_PIN_TIMES = ("from", "until")
_PINS_EXAMPLE = '[pins], or [pins.desktop] with layouts, and below it lines such as hero = "straw hat"'
_TABLES = ("page", "items", "pins")  # keys of a file that are not settings of the page


class PageFile(msgspec.Struct):
    """The content of a page file."""

    page: str
    spec: PageSpec
    items: dict[str, ItemSpec]
    pins: Pins
    with_state: frozenset[str] = frozenset()  # the items whose state the file gives


def read_page(path: Path) -> PageFile:
    """Read a page file. Errors name the line or the field."""
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is not TOML: {error}{_quoting_hint(path, str(error))}") from None
    try:
        return page_of(content)
    except BadInput as error:
        raise BadInput(f"{str(path)!r}: {error}") from None


def _quoting_hint(path: Path, error: str) -> str:
    """A hint to quote a name, if the line of the error begins with a name that TOML accepts only in quotes."""
    number = re.search(r"at line (\d+)", error)
    lines = path.read_text(errors="replace").splitlines()
    line = lines[int(number[1]) - 1] if number and int(number[1]) <= len(lines) else ""
    name = line.partition("=")[0].strip()
    if "=" not in line or re.fullmatch(r"[A-Za-z0-9_.-]*|[\[\"'{#].*", name):
        return ""
    return (
        f"; a name with spaces or other special characters needs quotes: {json.dumps(name, ensure_ascii=False)} = ..."
    )


def page_of(content: dict[str, Any]) -> PageFile:
    """Validate a decoded TOML document."""
    settings = {key: value for key, value in content.items() if key not in _TABLES}
    if "page" not in content:
        raise BadInput('page: the name of the page is missing, such as page = "shop"')
    page: str = _convert("page", content["page"], Name)
    spec: PageSpec = _convert("", settings, PageSpec)
    if spec.positions is None and spec.layouts is None:
        raise BadInput('positions is missing; it must come before [items], such as positions = ["hero", "left"]')
    for error in check_page(spec):
        raise BadInput(f"{error.pointer.strip('/').replace('/', '.')}: {error.detail}")
    item_table = _table(
        "items", content.get("items", {}), '[items], and below it a line for each, such as "straw hat" = {}'
    )
    items = {name: _item(name, value, spec) for name, value in item_table.items()}
    pins = _pins(spec, items, _table("pins", content.get("pins", {}), _PINS_EXAMPLE))
    return PageFile(page, spec, items, pins, frozenset(name for name in items if "state" in item_table[name]))


def _item(name: str, value: Any, page: PageSpec) -> ItemSpec:
    where = f"items.{name}"
    _convert(f"items: the name {name!r}", name, ItemName)
    fields = {
        key: _timestamp(f"{where}.{key}", field) if key in _TIMES else field
        for key, field in _table(where, value, '{}, or { state = "paused" }').items()
    }
    spec: ItemSpec = _convert(where, fields, ItemSpec)
    for error in check_item(spec) + feature_problems(page.features, spec.features):
        raise BadInput(f"{where}{error.pointer.replace('/', '.')}: {error.detail}")
    return spec


def _timestamp(where: str, value: Any) -> Any:
    """A TOML time as seconds since 1970."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise BadInput(f"{where}: {value} is not a time with its time zone, such as 2026-12-24T18:00:00Z")


def _pins(spec: PageSpec, items: dict[str, ItemSpec], table: dict[str, Any]) -> Pins:
    """The pins of each layout. A page with `positions` instead of `layouts` does not name its only layout."""
    by_layout = table if spec.layouts is not None else {DEFAULT_LAYOUT: table}
    pins: Pins = {}
    for layout, pinned in by_layout.items():
        where = f"pins.{layout}" if spec.layouts is not None else "pins"
        positions = spec.all_layouts().get(layout)
        if positions is None:
            raise BadInput(f"{where}: unknown layout {layout!r}; known: {', '.join(spec.all_layouts())}")
        found: dict[str, PagePin] = {}
        for position, value in _table(where, pinned, _PINS_EXAMPLE).items():
            if position not in positions:
                raise BadInput(f"{where}.{position}: unknown position; known: {', '.join(positions)}")
            pin = _pin(f"{where}.{position}", value)
            item = pinned_item(pin)
            if item not in items:
                raise BadInput(f"{where}.{position}: {item!r} is not among the items of the file")
            if any(pinned_item(other) == item and overlap(other, pin) for other in found.values()):
                raise BadInput(f"{where}.{position}: item {item!r} is pinned at two positions")
            found[position] = pin
        pins[layout] = msgspec.to_builtins(found)
    return {layout: pinned for layout, pinned in pins.items() if pinned}


def _pin(where: str, value: Any) -> PagePin:
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return] # if it is not the name of an item, it is refused as such
    fields = {key: _timestamp(f"{where}.{key}", field) if key in _PIN_TIMES else field for key, field in value.items()}
    pin: Pin = _convert(where, fields, Pin)
    for error in check_pin(pin):
        raise BadInput(f"{where}{error.pointer.replace('/', '.')}: {error.detail}")
    return page_pin(pin)


def _table(where: str, value: Any, example: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{where}: a table is needed: {example}")
    return value


def _convert(where: str, value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        line, path = describe_failure(error, kind, _TABLES if not where else ())
        field = (where + path.rpartition("$")[2]).strip(".")
        raise BadInput(f"{field}: {line}" if field else line) from None
