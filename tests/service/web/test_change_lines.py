"""The history as lines: what can be undone, and when an item was added."""

from typing import Any

from slotwise.service.history import Change
from slotwise.service.web.dashboard.change_lines import added_at, change_lines


def change(number: int, action: Any, subject: str, before: Any, after: Any) -> Change:
    return Change(number, 10.0 * number, None, "dev", action, subject, before, after)


def test_only_the_latest_change_of_a_thing_can_be_undone() -> None:
    changes = [
        change(5, "item", "hat", {"state": "paused"}, {"state": None}),
        change(4, "page", "shop", {"holdout": None}, {"holdout": 0.1}),
        change(3, "item", "hat", {"value": None}, {"value": 2.0}),
        change(2, "item", "hat", {"state": None}, {"state": "paused"}),
        change(1, "page", "shop", None, {"positions": ["a"]}),
    ]
    assert [line.undoable for line in change_lines(changes)] == [True, True, True, False, False]


def test_changes_of_the_layout_and_imports_cannot_be_undone_here() -> None:
    changes = [
        change(2, "state", "shop", {"revision": 1}, {"revision": 2}),
        change(1, "page", "shop", {"positions": ["a"]}, {"positions": ["a", "b"]}),
    ]
    assert [line.undoable for line in change_lines(changes)] == [False, False]


def test_names_are_escaped() -> None:
    (line,) = change_lines([change(1, "item", "<b>&", None, {})])
    assert "&lt;b&gt;&amp;" in line.text
    pins = {"default": {"<i>": "<u>"}}
    (line,) = change_lines([change(1, "page", "shop", {"pins": {}}, {"pins": pins})])
    assert "&lt;u&gt;" in line.text
    assert "<i>" not in line.text


def test_when_an_item_was_added() -> None:
    changes = [
        change(3, "items", "2 items", {"hat": {}, "tie": None}, {"hat": {"value": 2.0}, "tie": {}}),
        change(2, "item", "hat", None, {}),
    ]
    assert [added_at(changes, item) for item in ("tie", "hat", "bag")] == [30.0, 20.0, None]


def test_the_pins_of_an_item_are_among_its_changes() -> None:
    old, new = {"default": {"top": "hat"}}, {"default": {"top": {"item": "tie", "until": 9.0}, "low": "bag"}}
    changes = [
        change(5, "page", "hat", {"pins": old}, {"pins": new}),  # a page may have the name of an item
        change(4, "page", "hat", {"mode": None}, {"mode": "off"}),
        change(3, "items", "2 items", None, {"hat": {}}),
        change(2, "item", "hat", None, {}),
        change(1, "item", "tie", None, {}),
    ]
    found = {
        item: [line.change.number for line in change_lines(changes) if line.concerns(item)]
        for item in ["hat", "tie", "bag", "cap"]
    }
    assert found == {"hat": [5, 2], "tie": [5, 1], "bag": [5], "cap": []}
