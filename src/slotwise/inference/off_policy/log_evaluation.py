"""The evaluation of an order or a policy on a counted log, in clicks and, if the log has values, in value."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats
from slotwise.inference.off_policy.estimators import ValueEstimate
from slotwise.inference.off_policy.evaluation import Evaluation, evaluate_target
from slotwise.inference.off_policy.target import TargetShares
from slotwise.inference.off_policy.weighted_variant import earned_by_variant, weighted_cells
from slotwise.logs.display_cells import CountedDisplays, DisplayCells


class LogEvaluation(NamedTuple):
    """What each variant of the log earned per display, and what the target would have earned."""

    logged: dict[str, ValueEstimate]
    target: Evaluation


def evaluate_on_log(counted: CountedDisplays, shares: Floats, weighted: str, level: float) -> dict[str, LogEvaluation]:
    """The evaluation in "clicks", and in "value" if the log has values. `weighted` is the variant that is weighted."""
    cells = counted.cells
    earnings = {"clicks": np.ones(len(cells.items))} | ({"value": _item_values(cells)} if counted.has_values else {})
    found = {}
    for what, values in earnings.items():
        target = TargetShares(shares, cells.items, cells.positions, values)
        valued = what == "value"
        evaluation = evaluate_target(weighted_cells(cells, weighted, valued), target, level)
        found[what] = LogEvaluation(earned_by_variant(cells, level, valued), evaluation)
    return found


def _item_values(cells: DisplayCells) -> Floats:
    """The mean value of each item in the log."""
    shown, value = (np.bincount(cells.item, column, len(cells.items)) for column in (cells.shown, cells.value))
    if (value < 0.0).any() or not np.isfinite(value).all():
        raise BadInput("the log has a value that is negative or not a finite number")
    return np.asarray(value / shown, float)
