"""The history of a page as lines for people."""

from typing import Any, NamedTuple

from markupsafe import Markup

from slotwise.service.history import Change
from slotwise.service.web.numbers import decimal, percent

_SETTINGS = {
    "mode": "mode",
    "holdout": "share without learning",
    "default_order": "default order",
    "learnt_share": "share that learns",
    "most_per_category": "items of one category",
    "policy": "policy",
}
_STATES = {"active": "brought back", "paused": "paused", "retired": "retired"}


class ChangeLine(NamedTuple):
    """One change. `undoable` says whether no later change is about the same thing."""

    change: Change
    text: Markup
    undoable: bool

    def concerns(self, item: str) -> bool:
        """Whether an item itself was changed, or one of its pins."""
        if self.change.action == "item":
            return self.change.subject == item
        changes = _pin_changes(self.change.before, self.change.after)
        return any(item in (_pinned(old), _pinned(new)) for _, old, new in changes)


def change_lines(changes: list[Change]) -> list[ChangeLine]:
    """The changes, newest first, as lines."""
    lines, later = [], set[tuple[str, str]]()
    for change in changes:
        touched = _touched(change)
        lines.append(ChangeLine(change, _text(change), bool(touched) and not touched & later))
        later |= touched or {(change.action, change.subject)}
    return lines


def added_at(changes: list[Change], item: str) -> float | None:
    """When an item was added, or None if this is not among the changes."""
    for change in changes:
        if change.action == "item" and change.subject == item and change.before is None:
            return change.time
        if change.action == "items" and item in (change.after or {}) and (change.before or {}).get(item) is None:
            return change.time
    return None


def _touched(change: Change) -> set[tuple[str, str]]:
    """What an undo would change back. Empty if a change cannot be undone with the dashboard."""
    if not isinstance(change.after, dict) or "omitted_bytes" in change.after:
        return set()
    if change.action == "item":
        return {(change.subject, field) for field in (change.before or {"state": None})}
    if change.action != "page" or not isinstance(change.before, dict):
        return set()
    fields = set(change.after)
    return {("", field) for field in fields} if fields <= {*_SETTINGS, "pins"} else set()


def _text(change: Change) -> Markup:
    before, after = change.before, change.after
    if change.action == "item":
        return _item_text(change.subject, before, after)
    if change.action == "items":
        return Markup("{} added or changed").format(change.subject)
    if change.action == "state":
        return Markup("What was learnt was replaced by an import")
    if change.action == "archive":
        return Markup("The page was archived")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return Markup("The page was defined")
    parts = [_pins_text(_pin_changes(before, after))] if "pins" in after else []
    parts += [_field_text(field, before.get(field), after.get(field)) for field in after if field != "pins"]
    return Markup("; ").join(part for part in parts if part) or Markup("The page was saved without a change")


def _item_text(item: str, before: Any, after: Any) -> Markup:
    name = Markup("<b>{}</b>").format(item)
    if not isinstance(before, dict):
        return name + " added"
    parts = []
    for field, value in (after or {}).items():
        if field == "state":
            parts.append(Markup(_STATES.get(value or "active", "changed")))
        else:
            label = field.replace("_", " ")
            parts.append(Markup("{} is now {}").format(label, "the default" if value is None else _value(value)))
    return name + " " + (Markup(", ").join(parts) or "saved")


def _pin_changes(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """The positions whose pins differ, with the pin before and after, or None."""
    olds, news = ((side.get("pins") or {}) if isinstance(side, dict) else {} for side in (before, after))
    changes = []
    for layout in {**olds, **news}:
        old, new = olds.get(layout, {}), news.get(layout, {})
        changes += [(position, old.get(position), new.get(position)) for position in {**old, **new}]
    return [change for change in changes if change[1] != change[2]]


def _pins_text(changes: list[tuple[str, Any, Any]]) -> Markup:
    parts = []
    for position, old, new in changes:
        if new is None:
            parts.append(Markup("<b>{}</b> unpinned from {}").format(_pinned(old), position))
        else:
            ends = " for a time" if isinstance(new, dict) else ""
            parts.append(Markup("<b>{}</b> pinned to {}{}").format(_pinned(new), position, ends))
    return Markup(", ").join(parts)


def _pinned(pin: Any) -> str | None:
    """The item of a pin."""
    item: str | None = pin["item"] if isinstance(pin, dict) else pin
    return item


def _field_text(field: str, before: Any, after: Any) -> Markup:
    label = _SETTINGS.get(field, field.replace("_", " "))
    if field == "default_order":
        return Markup("default order changed")
    if field in ("holdout", "learnt_share"):
        default = 0.0 if field == "holdout" else 1.0
        shares = (default if value is None else value for value in (before, after))
        return Markup("{} from {} to {}").format(label, *(percent(share, 0) for share in shares))
    if isinstance(after, (dict, list)) or isinstance(before, (dict, list)):
        return Markup("{} changed").format(label)
    default_mode = "learn" if field == "mode" else "the default"
    shown = (default_mode if value is None else _value(value) for value in (before, after))
    return Markup("{} from {} to {}").format(label, *shown)


def _value(value: Any) -> Any:
    return decimal(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
