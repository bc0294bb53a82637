"""Registers: they only move up, and what they count does not depend on order or repetition."""

import itertools

import pytest

from slotwise.service.registers import NOTHING, Change, Counting, Kind, Registers, Total, changes

VIEW, CLICK, DISCARD = (Kind.VIEW, -1), (Kind.CLICK, 0), (Kind.DISCARD, -1)
OTHER_CLICK = (Kind.CLICK, 1)


def after(counting: Counting, *events: tuple[Kind, int]) -> Registers:
    registers = Registers(2, counting)
    for kind, place in events:
        registers.receive(kind, place, True)
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
    total = after(counting, *events).total()
    assert (bits(total.clicks), bits(total.skips)) == (clicks, skips)
    assert total.displays == (1 if sum(clicks) + sum(skips) else 0)
    for other in (NOTHING, Total(0, 3, 1), Total(1, 2, 1)):
        found = {change.place: change for change in changes(other, total)}
        for place in range(2):
            change = found.get(place, Change(place, 0, 0))
            assert bits(other.clicks)[place] + change.clicks == clicks[place]
            assert bits(other.skips)[place] + change.skips == skips[place]


def bits(mask: int) -> tuple[int, int]:
    return mask & 1, mask >> 1


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("size", range(5))
def test_order_and_repetition_change_nothing(counting: Counting, size: int) -> None:
    for events in itertools.combinations([VIEW, CLICK, OTHER_CLICK, DISCARD], size):
        wanted = after(counting, *events).total()
        for order in itertools.permutations(events):
            assert after(counting, *order, *order).total() == wanted


def test_the_status_of_each_event() -> None:
    registers = Registers(2, Counting.ISSUED)
    assert registers.receive(Kind.CLICK, 0, True) == "accepted"
    assert registers.receive(Kind.CLICK, 0, True) == "duplicate"
    assert registers.receive(Kind.CLICK, 0, False) == "duplicate"
    assert registers.receive(Kind.CLICK, 1, False) == "late"
    assert registers.receive(Kind.VIEW, -1, False) == "late"
    assert registers.receive(Kind.VIEW, -1, True) == "accepted"
    assert registers.receive(Kind.DISCARD, -1, False) == "accepted"
    assert registers.receive(Kind.DISCARD, -1, False) == "duplicate"
    assert registers.receive(Kind.CLICK, 1, True) == "duplicate"
