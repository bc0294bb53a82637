"""Registers only increase, and their counts do not depend on the order or repetition of events."""

import itertools

import pytest

from slotwise.service.registers import NOTHING, Counting, EntryChange, EventKind, Registers, RegisterTotals, changes

VIEW, CLICK, DISCARD = (EventKind.VIEW, -1), (EventKind.CLICK, 0), (EventKind.DISCARD, -1)
OTHER_CLICK = (EventKind.CLICK, 1)


def after(counting: Counting, *events: tuple[EventKind, int]) -> Registers:
    registers = Registers(2, counting)
    for kind, entry in events:
        registers.apply(kind, entry, True)
    return registers


@pytest.mark.parametrize(
    ("counting", "events", "clicks", "skips"),
    [
        (Counting.ISSUED, [], (0, 0), (1, 1)),
        (Counting.ISSUED, [CLICK], (1, 0), (0, 1)),
        (Counting.ISSUED, [CLICK, DISCARD], (0, 0), (0, 0)),
        (Counting.ISSUED, [VIEW], (0, 0), (1, 1)),
        (Counting.VIEWED, [], (0, 0), (0, 0)),
        (Counting.VIEWED, [VIEW], (0, 0), (1, 1)),
        (Counting.VIEWED, [CLICK], (1, 0), (0, 1)),
        (Counting.VIEWED, [DISCARD, VIEW], (0, 0), (0, 0)),
        (Counting.NEVER, [VIEW, CLICK], (0, 0), (0, 0)),
    ],
)
def test_what_registers_count(counting: Counting, events: list, clicks: tuple, skips: tuple) -> None:
    totals = after(counting, *events).totals()
    assert (bits(totals.clicks), bits(totals.skips)) == (clicks, skips)
    assert totals.displays == (1 if sum(clicks) + sum(skips) else 0)
    for other in (NOTHING, RegisterTotals(0, 3, 1), RegisterTotals(1, 2, 1)):
        by_entry = {change.entry: change for change in changes(other, totals)}
        for entry in range(2):
            change = by_entry.get(entry, EntryChange(entry, 0, 0))
            assert bits(other.clicks)[entry] + change.clicks == clicks[entry]
            assert bits(other.skips)[entry] + change.skips == skips[entry]


def bits(mask: int) -> tuple[int, int]:
    return mask & 1, mask >> 1


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("size", range(5))
def test_order_and_repetition_change_nothing(counting: Counting, size: int) -> None:
    for events in itertools.combinations([VIEW, CLICK, OTHER_CLICK, DISCARD], size):
        wanted = after(counting, *events).totals()
        for order in itertools.permutations(events):
            assert after(counting, *order, *order).totals() == wanted


def test_the_status_of_each_event() -> None:
    registers = Registers(2, Counting.ISSUED)
    assert registers.apply(EventKind.CLICK, 0, True) == "accepted"
    assert registers.apply(EventKind.CLICK, 0, True) == "duplicate"
    assert registers.apply(EventKind.CLICK, 0, False) == "duplicate"
    assert registers.apply(EventKind.CLICK, 1, False) == "late"
    assert registers.apply(EventKind.VIEW, -1, False) == "late"
    assert registers.apply(EventKind.VIEW, -1, True) == "accepted"
    assert registers.apply(EventKind.DISCARD, -1, False) == "accepted"
    assert registers.apply(EventKind.DISCARD, -1, False) == "duplicate"
    assert registers.apply(EventKind.CLICK, 1, True) == "duplicate"
