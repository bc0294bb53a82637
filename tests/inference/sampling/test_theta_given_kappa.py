"""Draws of theta given kappa, compared with the exact one-dimensional posterior."""

import math

import numpy as np
import pytest
from scipy import stats

from slotwise.inference.sampling.theta_given_kappa import draw_theta, log_density, mode, rise_bound, upper_bound
from slotwise.jit import kernel

KAPPA = np.array([1.0, 0.6, 0.3, 0.1])
DRAWS = 4000
# two-sided K-S at this level for each of the cases: fewer than one false alarm in 5,000 seeds over all of them
LEVEL = 1e-5

# clicks and skips per position: at all positions, at a single one, few, many, near 0, near 1, contradicting kappa
CASES = {
    "nothing": ([0, 0, 0, 0], [0, 0, 0, 0]),
    "one skip": ([0, 0, 0, 0], [1, 0, 0, 0]),
    "one click": ([1, 0, 0, 0], [0, 0, 0, 0]),
    "one late click": ([0, 0, 0, 1], [0, 0, 0, 0]),
    "few": ([1, 0, 1, 0], [2, 3, 1, 4]),
    "spread": ([30, 22, 9, 4], [70, 81, 88, 97]),
    "one position": ([0, 300, 0, 0], [0, 700, 0, 0]),
    "mostly invisible": ([2, 0, 0, 50], [8, 3, 1, 950]),
    "many": ([200_000, 60_000, 0, 1_000], [800_000, 440_000, 0, 49_000]),
    "near zero": ([1, 0, 0, 0], [5_000, 900, 100, 100]),
    "no click ever": ([0, 0, 0, 0], [3_000, 500, 100, 100]),
    "near one": ([990, 55, 20, 8], [3, 45, 60, 92]),
    "clicks only": ([40, 10, 0, 0], [0, 0, 0, 0]),
    "against kappa": ([0, 0, 0, 80], [10, 0, 0, 20]),
}


@kernel
def fill_draws(clicks, skips, kappa, rng, out):
    for k in range(out.size):
        out[k] = draw_theta(clicks, skips, 0, kappa, rng)


def exact_cdf(clicks: np.ndarray, skips: np.ndarray):
    """The cumulative distribution on a fine grid around the mode."""
    total, row = float(clicks.sum()), np.ascontiguousarray(skips[None, :], dtype=float)
    peak = min(max(mode(total, row, 0, KAPPA), 1e-12), 1 - 1e-12)
    width = 1.0 / math.sqrt(max(total / peak**2 + (skips * (KAPPA / (1 - KAPPA * peak)) ** 2).sum(), 1.0))
    if total == 0 and skips.sum() > 0:
        width = 1.0 / (skips * KAPPA).sum()
    low, high = max(peak - 40 * width, 0.0), min(peak + 40 * width, 1.0)
    grid = np.linspace(low, high, 400_001)
    middle = (grid[1:] + grid[:-1]) / 2
    with np.errstate(divide="ignore"):
        logs = (total * np.log(middle) if total else 0.0) + (skips * np.log1p(-np.outer(middle, KAPPA))).sum(axis=1)
    mass = np.concatenate([[0.0], np.cumsum(np.exp(logs - logs.max()))])
    return lambda q: np.interp(q, grid, mass / mass[-1])


def p_value(draws: np.ndarray, clicks: np.ndarray, skips: np.ndarray) -> float:
    return float(stats.kstest(draws, exact_cdf(clicks, skips)).pvalue)


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_posterior(case: str) -> None:
    clicks, skips = (np.array(values, dtype=float) for values in CASES[case])
    draws = np.empty(DRAWS)
    fill_draws(clicks.sum(), np.ascontiguousarray(skips[None, :]), KAPPA, np.random.default_rng(8), draws)
    assert draws.min() >= 0
    assert draws.max() <= 1
    assert p_value(draws, clicks, skips) > LEVEL


def lagrees_proposal(clicks: np.ndarray, skips: np.ndarray, rng: np.random.Generator) -> float:
    """A Beta draw at the position with the most data, divided by its kappa; repeated until at most 1 (Eq. 8)."""
    best = int(np.argmax(clicks + skips))
    while True:
        theta = rng.beta(clicks[best] + 1, skips[best] + 1) / KAPPA[best]
        if theta <= 1:
            return float(theta)


@pytest.mark.parametrize("case", ["spread", "few", "mostly invisible"])
def test_the_uncorrected_proposal_is_detected(case: str) -> None:
    """Negative control: the proposal alone, which a public implementation uses as the posterior."""
    clicks, skips = (np.array(values, dtype=float) for values in CASES[case])
    rng = np.random.default_rng(3)
    assert p_value(np.array([lagrees_proposal(clicks, skips, rng) for _ in range(DRAWS)]), clicks, skips) < LEVEL


@pytest.mark.parametrize("case", ["spread", "few"])
def test_lagrees_rejection_has_the_same_law(case: str) -> None:
    """The published pseudo-code: propose, accept with r(theta) / r(theta*); r is the product of the other positions'
    terms.
    """
    clicks, skips = (np.array(values, dtype=float) for values in CASES[case])
    best, rng = int(np.argmax(clicks + skips)), np.random.default_rng(4)
    others = np.arange(4) != best

    def log_r(q):
        return (clicks[others].sum() * np.log(q)) + (
            skips[others] * np.log1p(-np.multiply.outer(q, KAPPA[others]))
        ).sum(-1)

    highest = log_r(np.linspace(1e-6, 1 - 1e-9, 100_001)).max()
    draws = []
    while len(draws) < DRAWS:
        theta = lagrees_proposal(clicks, skips, rng)
        if theta > 0 and np.log(rng.random()) < log_r(theta) - highest:
            draws.append(theta)
    ours = np.empty(DRAWS)
    fill_draws(clicks.sum(), np.ascontiguousarray(skips[None, :]), KAPPA, np.random.default_rng(9), ours)
    assert stats.ks_2samp(draws, ours).pvalue > LEVEL


@pytest.mark.parametrize("seed", range(5))
def test_the_mode_is_where_the_density_is_largest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        scale = 10.0 ** rng.integers(0, 7)
        skips, clicks = (
            np.floor(rng.random((1, 4)) * scale * (rng.random(4) < 0.7)),
            float(np.floor(rng.random() * scale)),
        )
        kappa = np.where(rng.random(4) < 0.2, 0.0, rng.random(4))
        peak = mode(clicks, skips, 0, kappa)
        assert 0 <= peak <= 1
        inside = min(max(peak, 1e-12), 1 - 1e-12)
        top = log_density(inside, clicks, skips, 0, kappa)
        for q in np.concatenate(
            [rng.random(20), np.clip(inside * (1 + 1e-3 * rng.standard_normal(20)), 1e-12, 1 - 1e-12)]
        ):
            rise = log_density(q, clicks, skips, 0, kappa) - top
            assert rise <= 1e-9 * max(1.0, abs(top))
            assert rise_bound(q, inside, clicks, skips, 0, kappa) >= rise - 1e-9 * max(1.0, abs(top))


def test_the_upper_bound_is_where_the_density_has_fallen_enough() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        scale = 10.0 ** rng.integers(1, 6)
        skips, clicks = np.floor(rng.random((1, 4)) * scale), float(np.floor(0.3 * rng.random() * scale))
        peak, drop = mode(clicks, skips, 0, KAPPA), float(rng.exponential(3.0))
        q = upper_bound(peak, drop, clicks, skips, 0, KAPPA)
        assert peak <= q <= 1
        if q < 1 and peak > 0:
            fallen = log_density(peak, clicks, skips, 0, KAPPA) - log_density(q, clicks, skips, 0, KAPPA)
            assert fallen == pytest.approx(drop, rel=1e-4)
