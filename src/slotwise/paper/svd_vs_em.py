"""theta and kappa estimated by SVD and by EM from the same counts: how far apart, and how far from the truth."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.estimation.fit import fit
from slotwise.paper.settings import SETTINGS, setting

ROUNDS = 100_000


class FitGap(NamedTuple):
    """On one setting: the largest differences between the estimates, and each one's largest error."""

    setting: str
    theta_apart: float
    kappa_apart: float
    svd_error: float
    em_error: float


def fit_gaps(seed: int) -> list[FitGap]:
    """On every setting of the paper, from counts of uniformly random displays."""
    return [_gap(name, seed) for name in SETTINGS]


def _gap(name: str, seed: int) -> FitGap:
    truth = setting(name)
    views = np.full((truth.theta.size, truth.kappa.size), ROUNDS // truth.theta.size)
    clicks = np.random.default_rng(seed).binomial(views, np.outer(truth.theta, truth.kappa))
    counts = Counts(clicks=clicks, skips=views - clicks)
    svd, em = fit(counts, method="svd"), fit(counts, method="em")
    return FitGap(
        name,
        _apart(svd.theta, em.theta),
        _apart(svd.kappa, em.kappa),
        _error(svd, truth),
        _error(em, truth),
    )


def _error(found: PBM, truth: PBM) -> float:
    return max(_apart(found.theta, truth.theta), _apart(found.kappa, truth.kappa))


def _apart(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max())
