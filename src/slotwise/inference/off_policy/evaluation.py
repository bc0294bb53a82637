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
    position_sums,
    self_normalised,
)
from slotwise.inference.off_policy.logged_cells import LoggedCells
from slotwise.inference.off_policy.target import TargetShares
from slotwise.inference.sampling.posterior import posterior

LEAST_EFFECTIVE = 100.0  # displayed items: with fewer, intervals of weighted means are too short
LEAST_CLICKS = 30
LEAST_CLUSTERS = 20
MOST_UNSEEN = 0.01  # the share of what the target shows that the log may never show
_MOST_ERRORS = 5.0  # standard errors between the mean weight and its expectation; chance exceeds them in 1 of 2 million
_DRAWS = 1000
ESTIMATES = {  # fields of `Evaluation` -> labels
    "model": "model",
    "inverse_propensity": "inverse propensity",
    "self_normalised": "self-normalised",
    "doubly_robust": "doubly robust",
}


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What a target earns per display, by several estimators.

    `logged` is what the weighted displays of the log earned themselves. `model` trusts the position-based model and
    needs no propensities. It is None if the log has too few clicks. The other estimates weight the displays by their
    propensities. They are None if the log `cannot_tell`, which says why. `effective_displays` is the effective sample
    size.
    """

    cannot_tell: str
    displays: int
    effective_displays: float
    logged: ValueEstimate | None = None
    model: ValueEstimate | None = None
    inverse_propensity: ValueEstimate | None = None
    self_normalised: ValueEstimate | None = None
    doubly_robust: ValueEstimate | None = None


def evaluate_target(cells: LoggedCells, target: TargetShares, level: float = 0.9) -> Evaluation:
    """Estimate what the target would have earned per display of the log."""
    check_level(level)
    weights = target.shares[cells.half[cells.cluster], cells.item, cells.position] / cells.propensity
    effective = effective_displays(cells, weights)
    reason = _why_not(cells, target, weights, effective)
    evaluation = Evaluation(
        cannot_tell=reason,
        displays=int(cells.displays.sum()),
        effective_displays=effective,
        model=_model_based(cells, target, level) if cells.clicked.sum() >= LEAST_CLICKS else None,
    )
    if reason:
        return evaluation
    return msgspec.structs.replace(
        evaluation,
        logged=inverse_propensity(cells, np.isfinite(cells.propensity).astype(float), level),
        inverse_propensity=inverse_propensity(cells, weights, level),
        self_normalised=self_normalised(cells, weights, target.shares, level),
        doubly_robust=doubly_robust(cells, weights, target.shares, target.values, level),
    )


def _why_not(cells: LoggedCells, target: TargetShares, weights: Floats, effective: float) -> str:
    """The reason why the log cannot tell what the target earns, or an empty string."""
    if not np.isfinite(cells.propensity).any():
        return "the log has no propensities"
    weighted = cells._replace(shown=np.where(np.isfinite(cells.propensity), cells.shown, 0.0))
    counts = weighted._replace(clicked=np.zeros_like(cells.clicked)).counts(*target.shares.shape[1:])
    unseen = np.where(counts.skips == 0.0, target.shares.mean(axis=0), 0.0)
    if unseen.sum() > MOST_UNSEEN * target.shares.mean(axis=0).sum():
        item, position = np.unravel_index(unseen.argmax(), unseen.shape)
        n_others = np.count_nonzero(unseen) - 1
        others = f", and {n_others} more such cells" if n_others else ""
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
    return _wrong_weights(cells, target, weights)


def _wrong_weights(cells: LoggedCells, target: TargetShares, weights: Floats) -> str:
    """Say so if the mean weight of a position is not the probability that the target fills the position.

    It is too small if displays that cannot show what the target shows are weighted, and wrong if propensities are.
    """
    mass = target.shares.sum(axis=1)
    sums = position_sums(cells, weights * cells.shown, mass.shape[1]) - mass[cells.half].T * cells.displays
    bias, error = sums.sum(axis=1), np.sqrt((sums**2).sum(axis=1))
    tolerated = _MOST_ERRORS * error + MOST_UNSEEN * mass.shape[1] * cells.displays.sum()
    wrong = np.flatnonzero(np.abs(bias) > tolerated)
    if not wrong.size:
        return ""
    mean = 1.0 + bias[wrong[0]] / cells.displays.sum()
    return (
        f"the weights at {target.positions[wrong[0]]!r} average {mean:.2f} instead of 1: some displays could not show "
        "what the target shows, or the propensities are wrong; weight only the displays of a random holdout"
    )


def _model_based(cells: LoggedCells, target: TargetShares, level: float) -> ValueEstimate:
    """The posterior mean of the target's earnings under the position-based model, and a credible interval."""
    shares = target.shares.mean(axis=0)
    draws = posterior(cells.counts(*shares.shape), _DRAWS)
    earned = np.einsum("di,il,dl->d", draws.theta * target.values, shares, draws.kappa)
    low, high = np.quantile(earned, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return ValueEstimate(float(earned.mean()), float(low), float(high))
