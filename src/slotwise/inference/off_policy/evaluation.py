"""The evaluation of a target on a log: all estimates, or the reason why the log cannot tell."""

import msgspec
import numpy as np

from slotwise.checks import Floats
from slotwise.inference.estimation.fit import check_level
from slotwise.inference.off_policy.estimators import (
    ValueEstimate,
    doubly_robust,
    effective_displays,
    inverse_propensity,
    self_normalised,
)
from slotwise.inference.off_policy.logged_cells import LoggedCells
from slotwise.inference.sampling.posterior import posterior

LEAST_EFFECTIVE = 100.0  # displayed items: with fewer, intervals of weighted means are too short
LEAST_CLICKS = 30
LEAST_CLUSTERS = 20
_DRAWS = 1000


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What a target earns per display, by several estimators. They are None if the log `cannot_tell`, which says why.

    `logged` is what the displays of the log earned themselves. `model` trusts the position-based model and needs no
    propensities; the others need propensities. `effective_displays` is the effective sample size.
    """

    cannot_tell: str
    displays: int
    effective_displays: float
    logged: ValueEstimate | None = None
    model: ValueEstimate | None = None
    inverse_propensity: ValueEstimate | None = None
    self_normalised: ValueEstimate | None = None
    doubly_robust: ValueEstimate | None = None


class TargetShares(msgspec.Struct, frozen=True):
    """Where the target shows which item: `shares[i, l]` is the probability that item i is at position l."""

    shares: Floats
    items: list[str]
    positions: list[str]
    values: Floats  # what a click on each item earns


def evaluate_target(cells: LoggedCells, target: TargetShares, level: float = 0.9) -> Evaluation:
    """Estimate what the target would have earned per display of the log."""
    check_level(level)
    weights = target.shares[cells.item, cells.position] / cells.propensity
    effective = effective_displays(cells, weights)
    reason = _why_not(cells, target, weights, effective)
    evaluation = Evaluation(cannot_tell=reason, displays=int(cells.displays.sum()), effective_displays=effective)
    if reason:
        return evaluation
    return msgspec.structs.replace(
        evaluation,
        logged=inverse_propensity(cells, np.ones_like(weights), level),
        model=_model_based(cells, target, level),
        inverse_propensity=inverse_propensity(cells, weights, level),
        self_normalised=self_normalised(cells, weights, target.shares, level),
        doubly_robust=doubly_robust(cells, weights, target.shares, target.values, level),
    )


def _why_not(cells: LoggedCells, target: TargetShares, weights: Floats, effective: float) -> str:
    """The reason why the log cannot tell what the target earns, or an empty string."""
    shown = cells.counts(*target.shares.shape)
    missing = np.argwhere((target.shares > 0.0) & (shown.clicks + shown.skips == 0.0))
    if missing.size:
        item, position = missing[0]
        others = f", and {len(missing) - 1} more such cells" if len(missing) > 1 else ""
        return f"the log never shows {target.items[item]!r} at {target.positions[position]!r}{others}"
    clicks = int(cells.clicked[weights > 0.0].sum())
    if clicks < LEAST_CLICKS:
        return f"the target shares {clicks} clicks with the log, and {LEAST_CLICKS} are needed"
    clusters = np.unique(cells.cluster[weights > 0.0]).size
    if clusters < LEAST_CLUSTERS:
        return f"the displays come from {clusters} groups of visitors, and {LEAST_CLUSTERS} are needed"
    if effective < LEAST_EFFECTIVE:
        return (
            f"the log seldom shows what the target shows: the effective sample size is {effective:,.0f} displayed "
            f"items, and {LEAST_EFFECTIVE:,.0f} are needed"
        )
    return ""


def _model_based(cells: LoggedCells, target: TargetShares, level: float) -> ValueEstimate:
    """The posterior mean of the target's earnings under the position-based model, and a credible interval."""
    draws = posterior(cells.counts(*target.shares.shape), _DRAWS)
    earned = np.einsum("di,il,dl->d", draws.theta * target.values, target.shares, draws.kappa)
    low, high = np.quantile(earned, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return ValueEstimate(float(earned.mean()), float(low), float(high))
