"""Draws of the thetas of items without counts on a page with features. Each of these items has a prior of its own."""

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws
from slotwise.inference.sampling.regression.feature_draws import draw_new_thetas
from slotwise.service.ensembles.page_ensemble import RowsAndColumns
from slotwise.service.pages.count_matrix import NO_ROW


def with_new_items(
    draws: EnsembleDraws, where: RowsAndColumns, features: Floats, rng: np.random.Generator
) -> tuple[EnsembleDraws, RowsAndColumns]:
    """Add rows for the items that have none. Such an item has one row, which all segments share.

    `features` are those of all items, as the regression needs them.
    """
    without = np.flatnonzero((where.rows == NO_ROW).any(axis=0))
    if not without.size:
        return draws, where
    numbers, rows = np.zeros(where.rows.shape[1], np.int32), where.rows.copy()
    numbers[without] = draws.theta.shape[1] + np.arange(without.size)
    segments, items = np.nonzero(rows == NO_ROW)
    rows[segments, items] = numbers[items]
    thetas = draw_new_thetas(draws.regression, features[without], rng)
    return draws._replace(theta=np.hstack([draws.theta, thetas])), where._replace(rows=rows)
