"""The parameters of the regression given the thetas, compared with their exact law on a grid."""

import numpy as np
import pytest
from scipy import stats

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.sampling.regression.regression import (
    INTERCEPT_MEAN,
    INTERCEPT_SD,
    Regression,
    find_etas,
    learn_regression,
    log_density,
    note_informed,
    regression_on,
)
from slotwise.jit import kernel

N, UNSHOWN, DRAWS, THIN = 12, 2, 4000, 60
LEVEL = 1e-6  # of each K-S test


@kernel
def fill(regression, theta, thin, rng, out):
    for row in range(out.shape[0]):
        for _ in range(thin):
            learn_regression(regression, theta, rng)
        out[row, 0] = regression.parameters[0]
        out[row, 1] = regression.parameters[1]
        out[row, 2] = np.log(regression.scale[0])


def fitted(features: Floats, unshown: int = UNSHOWN) -> Regression:
    """A regression whose last items have no counts."""
    regression = regression_on(features, len(features))
    shown = np.ones((len(features), 1))
    shown[len(features) - unshown :] = 0
    note_informed(regression, Counts(shown, shown).arrays())
    return regression


def world(effect: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    features = 3 + rng.standard_normal((N, 1))
    return features, np.asarray(rng.beta(1, 1 + np.exp(2 - effect * (features[:, 0] - 3))))


def exact_levels(draws: Floats, regression: Regression, theta: Floats, sd: float = 1.0) -> Floats:
    """The CDF of each parameter's exact law at its draws. `sd` is that of the prior of the scale."""
    axes = np.linspace(-8, 3, 150), np.linspace(-5, 5, 150), np.linspace(np.log(1e-3), np.log(12), 150)
    known = slice(0, N - UNSHOWN)
    etas = axes[0][:, None, None] + axes[1][None, :, None] * regression.rotated[known, 0]
    logs = stats.beta.logpdf(theta[known], 1, 1 + np.exp(-etas)).sum(axis=2)
    logs = logs + stats.norm.logpdf(axes[0], INTERCEPT_MEAN, INTERCEPT_SD)[:, None]
    scales = np.exp(axes[2])
    priors = stats.norm.logpdf(axes[1][:, None], 0, scales) + stats.halfnorm.logpdf(scales, scale=sd) + axes[2]
    weights = np.exp(logs - logs.max())[:, :, None] * np.exp(priors)
    levels = np.empty_like(draws)
    for k, axis in enumerate(axes):
        mass = np.cumsum(weights.sum(axis=tuple({0, 1, 2} - {k})))
        levels[:, k] = np.interp(draws[:, k], axis + (axis[1] - axis[0]) / 2, mass / mass[-1])
    return levels


def draws_of(effect: float) -> tuple[Floats, Regression, Floats]:
    features, theta = world(effect)
    regression, out = fitted(features), np.empty((DRAWS, 3))
    fill(regression, theta, THIN, np.random.default_rng(7), out)
    return out, regression, theta


@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_parameters_follow_the_exact_law(effect: float) -> None:
    """Law: the posterior of intercept, effect and scale. 4,000 draws with correlations below 0.1.

    6 K-S tests at 1e-6, of which the correlations make 1e-5 at most.
    """
    out, regression, theta = draws_of(effect)
    assert max(np.corrcoef(column[1:], column[:-1])[0, 1] for column in out.T) < 0.1
    assert min(stats.kstest(column, "uniform").pvalue for column in exact_levels(out, regression, theta).T) > LEVEL


def test_another_law_is_detected() -> None:
    """The negative controls: a narrower prior of the scale, and one theta that is larger."""
    out, regression, theta = draws_of(2.0)
    levels = exact_levels(out, regression, theta, sd=0.5)
    assert stats.kstest(levels[:, 2], "uniform").pvalue < LEVEL
    theta[0] = 0.9
    levels = exact_levels(out, regression, theta)
    assert stats.kstest(levels[:, 0], "uniform").pvalue < LEVEL


@pytest.mark.parametrize("d", [0, 1, 3, 20])
def test_gradient_agrees_with_finite_differences(d: int) -> None:
    """Also if features outnumber items."""
    rng = np.random.default_rng(3)
    regression, theta = fitted(rng.standard_normal((N, d))), rng.random(N)
    regression.parameters[:] += 0.3 * rng.standard_normal(1 + d)
    slopes, unused, h = np.empty(1 + d), np.empty(1 + d), 1e-5

    def density() -> float:
        find_etas(regression)
        return log_density(regression, theta, unused)

    find_etas(regression)
    log_density(regression, theta, slopes)
    for k in range(1 + d):
        regression.parameters[k] += h
        above = density()
        regression.parameters[k] -= 2 * h
        assert slopes[k] == pytest.approx((above - density()) / (2 * h), rel=1e-5, abs=1e-6)
        regression.parameters[k] += h


def test_axes_are_those_of_the_shown_items() -> None:
    """Rotated features are uncorrelated over the shown items, and keep all distances."""
    features = np.random.default_rng(5).standard_normal((N, 3)) @ np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0.1]])
    regression = fitted(features)
    products = regression.rotated[: N - UNSHOWN].T @ regression.rotated[: N - UNSHOWN]
    assert products == pytest.approx(np.diag(regression.squares), abs=1e-9)
    distances = [np.linalg.norm(rows[:, None] - rows, axis=2) for rows in (regression.rotated, features)]
    assert distances[0] == pytest.approx(distances[1], abs=1e-9)
