"""Change the states of items and the pins on a page of a running service."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from slotwise.checks import BadInput, one_of
from slotwise.client.http_client import HttpClient, path_of
from slotwise.client.pages import fetch_existing_page, pin_text, why_pin_is_ignored


class StateChange(NamedTuple):
    """The state of an item before and after the change."""

    item: str
    before: str
    after: str


class PinChange(NamedTuple):
    """The pin of a position before and after the change, as text. None means no pin."""

    layout: str
    position: str
    before: str | None
    after: str | None
    no_effect: str = ""  # why visitors do not see the item now, such as "paused"


def set_states(client: HttpClient, page: str, items: Sequence[str], state: str) -> list[StateChange]:
    """Change the state of items that exist. All names are checked before anything is changed."""
    rows = {row["item"]: row for row in fetch_existing_page(client, page)["items"]}
    for name in items:
        _check_item(page, name, rows)
    changes = []
    for name in dict.fromkeys(items):
        path = path_of("pages", page, "items", name)
        if state == "retired":
            client.call("DELETE", path)
        else:
            client.call("PATCH", path, {"state": state})
        changes.append(StateChange(name, rows[name]["state"], state))
    return changes


def pin(
    client: HttpClient, page: str, position: str, item: str, layout: str | None, times: dict[str, float] | None = None
) -> PinChange:
    """Pin an item to a position. Without a layout, the page must have only one. `times` may have `from` and `until`."""
    content = fetch_existing_page(client, page)
    found = _find_layout(content, position, layout)
    rows = {row["item"]: row for row in content["items"]}
    _check_item(page, item, rows)
    wanted = {"item": item, **times} if times else item
    client.call("PUT", path_of("pages", page, "pins", found, position), {"item": item} | (times or {}))
    ignored = why_pin_is_ignored(wanted, rows[item])
    return PinChange(found, position, _pin_before(content, found, position), pin_text(wanted), ignored)


def unpin(client: HttpClient, page: str, position: str, layout: str | None) -> PinChange:
    """Remove the pin of a position, if it has one. Without a layout, the page must have only one."""
    content = fetch_existing_page(client, page)
    found = _find_layout(content, position, layout)
    client.call("DELETE", path_of("pages", page, "pins", found, position))
    return PinChange(found, position, _pin_before(content, found, position), None)


def _pin_before(content: Any, layout: str, position: str) -> str | None:
    pin = content["pins"].get(layout, {}).get(position)
    return None if pin is None else pin_text(pin)


def _find_layout(content: Any, position: str, layout: str | None) -> str:
    """The layout that a command means: the given one or the only one. It must have the position."""
    layouts: dict[str, list[str]] = content["layouts"]
    if layout is None and len(layouts) > 1:
        raise BadInput(f"page {content['page']} has several layouts; choose one with --layout: {', '.join(layouts)}")
    found = next(iter(layouts)) if layout is None else one_of("layout", layout, layouts)
    one_of(f"position of layout {found}", position, layouts[found])
    return found


def _check_item(page: str, name: str, rows: dict[str, Any]) -> None:
    """Raise BadInput if an item does not exist. The message does not list the items: there may be 10,000."""
    if name not in rows:
        near = get_close_matches(name, rows, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"`slotwise pages show {page}` lists its items"
        raise BadInput(f"page {page} has no item {name!r}; {hint}")
