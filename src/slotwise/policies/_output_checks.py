"""Check the output of policies from outside slotwise: their displays, scores and states."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies import _common
from slotwise.policies._policy_errors import ContractError, is_outside, problem_at

UNFILLED = -(2**62)  # marks a position of a display as not filled in; an unfilled score is NaN
CHOOSE, UPDATE = 0, 1  # who filled a display in
THETA, KAPPA = 0, 1


class InvalidDisplay(ContractError):
    """A policy fills in an invalid display.

    The arguments are the round, CHOOSE or UPDATE, a position, its item, another position with this item, and the number
    of items.
    """

    def function(self) -> str:
        return ("choose", "update")[int(self.args[1])]

    def problem(self) -> str:
        t, _, position, item, other, n_items = (int(number) for number in self.args)
        where = f"display[{position}]"
        needed = f"the items are 0 to {n_items - 1}"
        if other == position:
            return f"{self.function()} writes outside of display, which has {position} positions, in round {t}"
        if item == UNFILLED:
            return f"{self.function()} does not fill {where} in round {t}; {needed}"
        if not 0 <= item < n_items:
            return f"{self.function()} sets {where} = {item} in round {t}; {needed}"
        return (
            f"{self.function()} sets both display[{other}] and {where} to item {item} in round {t}; "
            "a display shows an item once"
        )


class InvalidScore(ContractError):
    """A policy fills in an invalid score. The arguments are THETA or KAPPA, and an index."""

    def function(self) -> str:
        return "score"

    def problem(self) -> str:
        name, index = ("theta", "kappa")[int(self.args[0])], int(self.args[1])
        return f"score leaves {name}[{index}] unfilled or NaN; every item and every position needs a number"


@kernel
def clear_display(cells: Ints, n_positions: int) -> None:
    """Mark the positions of a display as not filled in, and also the cell after the last position."""
    for k in range(n_positions + 1):
        cells[k] = UNFILLED


@kernel
def check_display(cells: Ints, n_positions: int, n_items: int, t: int, who: int) -> None:
    """Raise InvalidDisplay unless the positions have distinct items and the cell after them was not written."""
    if cells[n_positions] != UNFILLED:
        raise InvalidDisplay(t, who, n_positions, cells[n_positions], n_positions, n_items)
    for position in range(n_positions):
        item = cells[position]
        if item < 0 or item >= n_items:
            raise InvalidDisplay(t, who, position, item, -1, n_items)
        for other in range(position):
            if cells[other] == item:
                raise InvalidDisplay(t, who, position, item, other, n_items)


@kernel
def check_scores(theta: Floats, kappa: Floats) -> None:
    """Raise InvalidScore if a score is NaN, because an item could then be shown at two positions."""
    for item in range(theta.size):
        if np.isnan(theta[item]):
            raise InvalidScore(THETA, item)
    for position in range(kappa.size):
        if np.isnan(kappa[position]):
            raise InvalidScore(KAPPA, position)


def check_state_shapes(module: ModuleType, function: str, state: Any, n_items: int, n_positions: int) -> None:
    """Raise an error if the arrays of a state are so small that kernels of slotwise would write outside of them."""
    if not is_outside(module):
        return
    if not isinstance(state, module.State):
        raise problem_at(module, function, f"{function} returns {type(state).__name__}, not a State")
    for name, array, shape in _needed_shapes(module, state, n_items, n_positions):
        if np.shape(array) != shape:
            size = f"for {n_items} items and {n_positions} positions"
            problem = f"{function} returns {name} of shape {np.shape(array)}; {size} it must be {shape}"
            raise problem_at(module, function, problem)


def _needed_shapes(
    module: ModuleType, state: Any, n_items: int, n_positions: int
) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """The name, value and needed shape of each array that kernels of slotwise write to."""
    for field in getattr(state, "_fields", ()):
        counts = getattr(state, field)
        if isinstance(counts, CountArrays):
            for name, needed in zip(CountArrays._fields, empty(n_items, n_positions), strict=True):
                yield f"{field}.{name}", getattr(counts, name), needed.shape
    if getattr(module.choose, "__module__", "") == _common.__name__:  # choose_by_score
        yield "theta", getattr(state, "theta", None), (n_items,)
        yield "kappa", getattr(state, "kappa", None), (n_positions,)
