"""Unobserved items and positions keep their prior. They are drawn exactly, because a chain would mix very slowly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.sampling.chain import Chain, Sampler, Target
from slotwise.inference.sampling.chain_on_observed import ChainOnObserved
from slotwise.inference.sampling.effective_sample_size import ess
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.posterior import REFERENCES, posterior, target_of
from tests.inference.sampling.exact_posterior import exact
from tests.inference.sampling.posterior_cases import FEW, FIRST, NONE, ONE_UNOBSERVED
from tests.inference.sampling.quadrature import gauss

NODES, WEIGHTS = (gauss(200)[0] + 1.0) / 2.0, gauss(200)[1] / 2.0  # on [0, 1]


def falling(t: Floats) -> Floats:
    """P(theta <= t) for 1/b uniform and a = 1."""
    return 1.0 - (1.0 - t)[..., None] ** (1.0 / NODES) @ WEIGHTS


LAWS: dict[Any, Callable[[Floats], Floats]] = {
    "uniform": lambda t: t,
    (2.0, 3.0): lambda t: betainc(2.0, 3.0, t),
    "falling": falling,
}


def distance(draws: Floats, law: Callable[[Floats], Floats]) -> float:
    """The Kolmogorov-Smirnov distance times the root of the number of draws: above 2.5 with probability 1 / 150,000."""
    n = len(draws)
    below = law(np.sort(draws))
    return float(
        np.sqrt(n) * max(np.abs(below - np.arange(n) / n).max(), np.abs(below - np.arange(1, n + 1) / n).max())
    )


@pytest.mark.parametrize("prior", LAWS, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (50, 6)], ids=str)
def test_without_counts_draws_follow_the_prior(prior: Any, shape: tuple[int, int]) -> None:
    """Law: kappa is uniform; theta is reported as the click rate at the most visible of L positions, theta max(kappa).

    4,000 independent draws; the negative control is the law of theta itself.
    """
    nothing = Counts(np.zeros(shape), np.zeros(shape))
    post = posterior(nothing, 4000, prior, seed=5)
    assert post.sweeps == 0
    assert post.reached

    def scaled(x: Floats) -> Floats:  # max(kappa) is the L-th root of a uniform number
        largest = NODES ** (1.0 / shape[1])
        some = np.quantile(x, np.linspace(0.0, 1.0, 401))  # interpolated between them: the error is below 1e-4
        return np.interp(x, some, [LAWS[prior](np.minimum(value / largest, 1.0)) @ WEIGHTS for value in some])

    for k in {0, shape[0] - 1}:
        assert distance(post.theta[:, k], scaled) < 2.5
        assert distance(post.theta[:, k], LAWS[prior]) > 2.5
    for k in {0, shape[1] - 1}:
        assert distance(post.kappa[:, k], lambda x: x) < 2.5


@pytest.mark.parametrize("prior", ["learnt", "falling"])
def test_items_of_one_draw_share_their_prior(prior: str) -> None:
    """Law: 1/a and 1/b are uniform, or a is 1. The items of one draw share a and b, so their log thetas correlate."""
    post = posterior(Counts(np.zeros((2, 1)), np.zeros((2, 1))), 4000, prior)
    assert distance(1.0 / post.beta[:, 1], lambda x: x) < 2.5
    if prior == "learnt":
        assert distance(1.0 / post.beta[:, 0], lambda x: x) < 2.5
    else:
        assert (post.beta[:, 0] == 1.0).all()
        assert np.corrcoef(np.log(post.theta.T))[0, 1] > 0.2


@pytest.mark.parametrize(("reference", "free_from"), [("none", NONE), ("first", FIRST)])
def test_an_unobserved_item_next_to_observed_ones(reference: str, free_from: int) -> None:
    """Law: means of the exact posterior. 20,000 draws, six standard errors, false alarms 1e-8."""
    law = exact(*ONE_UNOBSERVED, free_from)
    post = posterior(Counts(*ONE_UNOBSERVED), 20_000, reference=reference, seed=8)
    wanted = [marginal.mean if free_from else marginal.scaled for marginal in (*law.theta, *law.kappa)]
    draws = np.concatenate([post.theta, post.kappa], axis=1)
    sizes = post.effective_sample_sizes
    free = np.isfinite(sizes)
    errors = draws.std(axis=0)[free] / np.sqrt(sizes[free])
    assert (np.abs(draws.mean(axis=0) - wanted)[free] < 6 * errors).all()


def test_an_unobserved_position_does_not_change_the_others() -> None:
    clicks, skips = (np.insert(np.array(counts, float), 1, 0.0, axis=1) for counts in FEW)
    post, without = posterior(Counts(clicks, skips), 20_000, seed=9), posterior(Counts(*FEW), 20_000, seed=10)
    assert distance(post.kappa[:, 1], lambda x: x) < 2.5
    others = [0, *range(2, clicks.shape[1])]
    for draws, expected in ((post.theta, without.theta), (post.kappa[:, others], without.kappa)):
        assert (np.abs(draws.mean(axis=0) - expected.mean(axis=0)) < 6 * draws.std(axis=0) / np.sqrt(5_000)).all()


def test_an_unobserved_first_position_is_still_the_reference() -> None:
    counts = Counts([[0, 3], [0, 1]], [[0, 2], [0, 4]])
    post = posterior(counts, 400, reference="first")
    assert (post.kappa[:, 0] == 1.0).all()
    nothing = posterior(Counts(np.zeros((2, 2)), np.zeros((2, 2))), 400, reference="first")
    assert (nothing.kappa[:, 0] == 1.0).all()
    assert nothing.kappa[:, 1].std() > 0.2


@pytest.mark.parametrize("prior", ["learnt", "falling"])
def test_it_draws_from_the_same_law_as_a_chain_of_all_items(prior: str) -> None:
    """Law: that of a chain of all items, which is slow but correct.

    The test compares the means of 1/b, of an observed and of an unobserved theta. They may differ by five standard
    errors of the difference; six comparisons, false alarms 4e-6.
    """
    clicks, skips = np.zeros((4, 2)), np.zeros((4, 2))
    clicks[0], skips[0], skips[1] = [3, 1], [5, 5], [6, 2]
    target = target_of(Counts(clicks, skips), prior, "none")

    def means(chain: Chain | ChainOnObserved) -> tuple[Floats, Floats]:
        chain.burn_in(500)
        chain.record(20_000, 4)
        draws = np.column_stack([1.0 / chain.draws.beta[:, 1], chain.draws.theta[:, 0], chain.draws.theta[:, 3]])
        return draws.mean(axis=0), draws.var(axis=0) / ess(draws[None])

    full = Chain(target, Sampler.MIXING, 1.0, np.random.default_rng(1))
    (one, error), (other, other_error) = means(full), means(ChainOnObserved(target, np.random.default_rng(2)))
    assert (np.abs(one - other) < 5 * np.sqrt(error + other_error)).all()


@pytest.mark.parametrize("learnt", list(Learnt))
@pytest.mark.parametrize("reference", list(REFERENCES))
def test_when_everything_is_observed_the_draws_are_those_of_the_chain(learnt: Learnt, reference: str) -> None:
    target = Target(Counts(*FEW).arrays(), (1.0, 1.0), learnt, REFERENCES[reference])
    plain = Chain(target, Sampler.MIXING, 1.0, np.random.default_rng(3))
    observed = ChainOnObserved(target, np.random.default_rng(3))
    for chain in (plain, observed):
        chain.burn_in(20)
        chain.record(50, 2)
    for full_draws, observed_draws in zip(plain.draws, observed.draws, strict=True):
        np.testing.assert_array_equal(full_draws, observed_draws)
    assert observed.sweeps == 120
