"""TargetShares: what is evaluated, as the probability that each item is shown at each position."""

from collections.abc import Sequence

import msgspec
import numpy as np

from slotwise.checks import BadInput, Floats, one_of


class TargetShares(msgspec.Struct, frozen=True):
    """Where the target shows which item: `shares[h, i, l]` is the probability that item i is at position l.

    The target may differ between the halves h of the log: see `LoggedCells.half`. A policy learns from one half and is
    evaluated on the other, because it looks too good on the clicks that it has learnt from.
    """

    shares: Floats
    items: list[str]
    positions: list[str]
    values: Floats  # what a click on each item earns


def order_shares(order: Sequence[str], items: list[str], positions: list[str]) -> Floats:
    """The shares of an order, which always shows the same item at each position."""
    if len(order) != len(positions):
        raise BadInput(
            f"the order has {len(order)} items, and the page has {len(positions)} positions: {', '.join(positions)}"
        )
    repeated = [name for name in order if order.count(name) > 1]
    if repeated:
        raise BadInput(f"the order shows {repeated[0]!r} twice")
    shares = np.zeros((2, len(items), len(positions)))
    for position, name in enumerate(order):
        shares[:, items.index(one_of("item of the log", name, items)), position] = 1.0
    return shares
