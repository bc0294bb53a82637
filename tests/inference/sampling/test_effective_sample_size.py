"""Effective sample sizes and R-hat, compared with ArviZ and with chains whose effective sample size is known."""

from collections.abc import Callable

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.signal import lfilter

from slotwise.checks import Floats
from slotwise.inference.sampling.effective_sample_size import ess, r_hat, tail_ess


def _autoregressive(phi: float, shape: tuple[int, ...], seed: int) -> Floats:
    """Stationary AR(1) chains of unit variance along the second axis."""
    noise = np.random.default_rng(seed).normal(size=shape) * np.sqrt(1 - phi**2)
    noise[:, 0] /= np.sqrt(1 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=1)


INDEPENDENT = _autoregressive(0.0, (4, 500), 1)
KINDS = {
    "independent": INDEPENDENT,
    "one chain": INDEPENDENT[:1],
    "autoregressive": _autoregressive(0.95, (4, 1000), 2),
    "a random walk": _autoregressive(0.0, (3, 501), 3).cumsum(axis=1),
    "antithetic": _autoregressive(-0.7, (4, 1000), 4),
    "alternating": np.tile([1.0, -1.0], (2, 100)),
    "one chain stuck": INDEPENDENT * np.array([[1.0], [1.0], [0.0], [1.0]]),
    "all stuck apart": np.tile([[0.3], [0.7]], (2, 300)),
    "different levels": INDEPENDENT + np.arange(4)[:, None],
    "different widths": INDEPENDENT * np.array([[1.0], [1.0], [1.0], [5.0]]),
    "heavy ties": np.round(INDEPENDENT),
    "two values, one rare": (INDEPENDENT > 2).astype(np.float64),
    "heavy tails": np.tan(_autoregressive(0.5, (4, 500), 5)),
    **{f"{n} draws": _autoregressive(0.5, (2, n), n) for n in (4, 5, 8, 11, 13)},
}
ARVIZ = {
    ess: lambda draws: array_stats.ess(draws),
    tail_ess: lambda draws: array_stats.ess(draws, method="tail", prob=0.05),
    r_hat: lambda draws: array_stats.rhat(draws),
}


@pytest.mark.parametrize("ours", ARVIZ)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:divide by zero:RuntimeWarning")  # ArviZ's
def test_agrees_with_arviz(ours: Callable[[Floats], Floats], kind: str) -> None:
    if ours is r_hat and kind == "all stuck apart":
        assert r_hat(KINDS[kind]) > 1e6  # the variance within chains is 0 up to rounding: no two implementations agree
    else:
        np.testing.assert_allclose(ours(KINDS[kind]), ARVIZ[ours](KINDS[kind]), rtol=1e-6)


@pytest.mark.parametrize("ours", ARVIZ)
def test_variables_are_independent_of_each_other(ours: Callable[[Floats], Floats]) -> None:
    kinds = [draws for draws in KINDS.values() if draws.shape == (4, 500)]
    together = ours(np.stack(kinds, axis=-1))
    assert together.shape == (len(kinds),)
    np.testing.assert_allclose(together, [ours(draws) for draws in kinds], rtol=1e-9)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_the_ess_of_an_autoregressive_chain(phi: float) -> None:
    """Law: the ratio of the ESS to the number of draws is (1 - phi) / (1 + phi). 16 variables of 4 x 20,000 draws: the
    mean ratio must be within 8 %.

    On other seeds, the relative error of one variable was 1.1 to 4.7 %, and the bias at most 0.8 %, so 8 % is six
    standard errors or more. Four comparisons, false alarms below 1e-8.
    """
    ess_per_draw = ess(_autoregressive(phi, (4, 20_000, 16), 6)).mean() / 80_000
    assert ess_per_draw == pytest.approx((1 - phi) / (1 + phi), rel=0.08)
    near = phi + 0.08  # the negative control: the expected ratio of a slightly different chain
    assert ess_per_draw != pytest.approx((1 - near) / (1 + near), rel=0.08)


def test_r_hat_is_large_only_for_chains_that_disagree() -> None:
    assert r_hat(KINDS["independent"]) < 1.01
    assert r_hat(KINDS["autoregressive"]) < 1.1
    for kind in ("one chain stuck", "different levels", "different widths", "a random walk"):
        assert r_hat(KINDS[kind]) > 1.1


@pytest.mark.parametrize("ours", ARVIZ)
def test_uninformative_draws_give_nan(ours: Callable[[Floats], Floats]) -> None:
    """A constant variable, a variable with a NaN, and chains that are too short give NaN; other variables do not."""
    draws = np.stack([INDEPENDENT, np.full((4, 500), 0.3), INDEPENDENT], axis=-1)
    draws[1, 7, 2] = np.nan
    np.testing.assert_array_equal(np.isnan(ours(draws)), [False, True, True])
    np.testing.assert_array_equal(ours(draws[:, :3]), np.full(3, np.nan))
