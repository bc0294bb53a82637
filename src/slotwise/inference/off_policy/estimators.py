"""Estimators of what a target earns per display: inverse propensity, self-normalised, and doubly robust.

In the position-based model, the click on an item depends on its position and on no other item of the display. So each
position is weighted by itself (Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen 2018, Offline evaluation of
ranking policies with click models): w = P(target shows the item there) / P(the log shows the item there). A weight of
the whole display would be far larger.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from slotwise.checks import Floats
from slotwise.inference.estimation.fit import fit_many
from slotwise.inference.off_policy.logged_cells import LoggedCells


class ValueEstimate(NamedTuple):
    """What a target earns per display, and its confidence interval."""

    value: float
    low: float
    high: float


def inverse_propensity(cells: LoggedCells, weights: Floats, level: float) -> ValueEstimate:
    """The mean of w times the earnings. It is unbiased whether or not the position-based model holds."""
    return _ratio(cells.cluster_sums(weights * cells.earned), cells.displays, level)


def self_normalised(cells: LoggedCells, weights: Floats, target: Floats, level: float) -> ValueEstimate:
    """Divide by the sum of the weights of each position instead of its expectation: less variance, a small bias.

    `target` is halves x items x positions: the probability that the target shows an item at a position.
    """
    mass = target.sum(axis=1).mean(axis=0)
    earned, weight = (
        position_sums(cells, terms, mass.size) for terms in (weights * cells.earned, weights * cells.shown)
    )
    totals = weight.sum(axis=1)
    used = totals > 0.0
    rates = earned[used].sum(axis=1) / totals[used]
    # the influence of a cluster on a ratio of sums: (numerator - ratio x denominator) / total
    influence = (earned[used] - rates[:, None] * weight[used]) / totals[used, None]
    return _student(float(mass[used] @ rates), mass[used] @ influence, level)


def position_sums(cells: LoggedCells, terms: Floats, n_positions: int) -> Floats:
    """The sums of `terms`, one for each cell: positions x clusters."""
    n_clusters = cells.displays.size
    key = cells.position * n_clusters + cells.cluster
    return np.asarray(np.bincount(key, terms, n_positions * n_clusters).reshape(n_positions, n_clusters), float)


def doubly_robust(
    cells: LoggedCells, weights: Floats, target: Floats, item_values: Floats, level: float
) -> ValueEstimate:
    """The model's prediction, plus the weighted mean of what the model does not explain.

    It is unbiased if the propensities are right, and has little variance if the model is good. The model of each half
    of the clusters is fitted to the other half, so that noise in the fit is not taken for an effect.
    """
    half = cells.half
    _, n_items, n_positions = target.shape
    fits = fit_many([cells.counts(n_items, n_positions, half != own) for own in (0, 1)])
    models = np.stack([np.outer(model.theta * item_values, model.kappa) for model in fits])
    own = models[half[cells.cluster], cells.item, cells.position]
    residuals = cells.cluster_sums(weights * (cells.earned - own * cells.shown))
    predicted = (target * models).sum(axis=(1, 2))[half]
    return _ratio(residuals + predicted * cells.displays, cells.displays, level)


def effective_displays(cells: LoggedCells, weights: Floats) -> float:
    """The effective sample size of the displayed items: as many equal weights would give the same precision."""
    total, squares = (weights * cells.shown).sum(), (weights**2 * cells.shown).sum()
    return float(total**2 / squares) if squares > 0.0 else 0.0


def _ratio(sums: Floats, displays: Floats, level: float) -> ValueEstimate:
    """The estimate sums / displays, where the clusters are independent."""
    value = sums.sum() / displays.sum()
    return _student(float(value), (sums - value * displays) / displays.sum(), level)


def _student(value: float, influence: Floats, level: float) -> ValueEstimate:
    """An interval of Student's law from the influence of each cluster on the estimate."""
    n_used = max(int(np.count_nonzero(influence)), 2)
    error = np.sqrt((influence**2).sum() * n_used / (n_used - 1))
    half_width = float(stdtrit(n_used - 1, (1.0 + level) / 2.0) * error)
    return ValueEstimate(value, value - half_width, value + half_width)
