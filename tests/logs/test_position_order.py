"""The positions of an exported log are in the order of the page."""

import pytest

from slotwise.logs.position_order import merge_order


@pytest.mark.parametrize(
    ("displays", "order"),
    [
        (["abc", "abc"], "abc"),
        (["ac", "abc"], "abc"),  # a position that the first display left out
        (["bc", "abc"], "abc"),
        (["c", "abc", "cd"], "abcd"),
        (["ab", "de", "bcd"], "abcde"),
        (["ab", "xy"], "abxy"),  # two layouts
    ],
)
def test_displays_give_an_order(displays: list[str], order: str) -> None:
    merged: list[str] = []
    for display in displays:
        merge_order(merged, display)
    assert "".join(merged) == order
