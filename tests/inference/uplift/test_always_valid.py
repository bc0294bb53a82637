import math

import numpy as np
import pytest

from slotwise.inference.uplift.always_valid import deciding_variance, half_width, probability_positive


def test_the_interval_excludes_what_the_mixture_likelihood_ratio_rejects() -> None:
    """At the end of the interval, the ratio of the mixture's likelihood to that of the value is 1 / alpha."""
    variance, tau, level = 0.003, 0.1, 0.9
    width = half_width(variance, tau, level)
    total = variance + tau**2
    ratio = math.sqrt(variance / total) * math.exp(width**2 / 2.0 * (1.0 / variance - 1.0 / total))
    assert ratio == pytest.approx(1.0 / (1.0 - level))


def test_it_covers_at_all_times_together() -> None:
    """3,000 sequences of 500 looks at a random walk. The interval at level 0.9 misses the truth in at most 10 %.

    A share of 10 % exceeds 12 % with probability 1e-4. The ordinary interval, the negative control, misses in over
    half of the sequences.
    """
    rng = np.random.default_rng(0)
    looks = np.arange(1, 501)
    means = rng.normal(size=(3000, 500)).cumsum(axis=1) / looks
    widths = np.array([half_width(1.0 / look, 0.1, 0.9) for look in looks])
    assert (np.abs(means) > widths).any(axis=1).mean() <= 0.12
    assert (np.abs(means) > 1.645 / np.sqrt(looks)).any(axis=1).mean() > 0.5


def test_the_deciding_variance_is_where_the_interval_touches_zero() -> None:
    for estimate in (0.3, -0.05, 0.002):
        variance = deciding_variance(estimate, 0.1, 0.9)
        assert half_width(variance, 0.1, 0.9) == pytest.approx(abs(estimate))
    assert deciding_variance(0.0, 0.1, 0.9) == 0.0


def test_the_probability_is_that_of_a_normal_posterior() -> None:
    draws = np.random.default_rng(0).normal(0.0, 0.1, 400_000)
    estimates = draws + np.random.default_rng(1).normal(0.0, 0.07, draws.size)
    near = np.abs(estimates - 0.05) < 0.005
    assert probability_positive(0.05, 0.07**2, 0.1) == pytest.approx((draws[near] > 0.0).mean(), abs=0.02)
    assert probability_positive(-0.05, 0.07**2, 0.1) == pytest.approx(1.0 - probability_positive(0.05, 0.07**2, 0.1))
    assert probability_positive(0.0, 0.0, 0.1) == 0.5
