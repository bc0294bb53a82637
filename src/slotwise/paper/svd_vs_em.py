"""Compare the estimates of theta and kappa by SVD and by EM from the same counts: differences and errors."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.estimation.fit import fit
from slotwise.paper.named_click_models import SETTINGS, setting

ROUNDS = 100_000


class FitGap(NamedTuple):
    """The largest differences between the two estimates on one setting, and the largest error of each."""

    setting: str
    theta_apart: float
    kappa_apart: float
    svd_error: float
    em_error: float


def fit_gaps(seed: int) -> list[FitGap]:
    """The gaps on every setting of the paper, from counts of uniformly random displays."""
    return [_gap(name, seed) for name in SETTINGS]


def _gap(name: str, seed: int) -> FitGap:
    truth = setting(name)
    views = np.full((truth.theta.size, truth.kappa.size), ROUNDS // truth.theta.size)
    clicks = np.random.default_rng(seed).binomial(views, np.outer(truth.theta, truth.kappa))
    counts = Counts(clicks=clicks, skips=views - clicks)
    svd, em = fit(counts, method="svd"), fit(counts, method="em")
    return FitGap(
        name,
        _max_difference(svd.theta, em.theta),
        _max_difference(svd.kappa, em.kappa),
        _max_error(svd, truth),
        _max_error(em, truth),
    )


def _max_error(fitted: PBM, truth: PBM) -> float:
    return max(_max_difference(fitted.theta, truth.theta), _max_difference(fitted.kappa, truth.kappa))


def _max_difference(first: Floats, second: Floats) -> float:
    return float(np.abs(first - second).max())
