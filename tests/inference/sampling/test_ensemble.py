"""The ensemble: its draws follow the posterior, and it is drawn again when the counts have changed enough."""

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.counts import CountArrays, Counts, fade, skip_to_click
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.ensemble import Ensemble, empty_ensemble, needs_refill, refill
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.ridges import single_component

CLICKS = np.array([[6.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
SKIPS = np.array([[9.0, 8.0], [7.0, 12.0], [4.0, 3.0]])
DRAWS, REFILLS = 64, 250


def chances_by_importance(clicks: Floats, skips: Floats) -> Floats:
    """The mean click probability of each cell: 400,000 draws from the uniform prior, weighted by the likelihood."""
    rng = np.random.default_rng(5)
    theta, kappa = rng.random((400_000, 3)), rng.random((400_000, 2))
    p = theta[:, :, None] * kappa[:, None, :]
    log_weights = (clicks * np.log(p) + skips * np.log1p(-p)).sum(axis=(1, 2))
    return np.average(p, axis=0, weights=np.exp(log_weights - log_weights.max()))


def refilled(counts: Counts, times: int, draws: int = DRAWS) -> tuple[CountArrays, list[Ensemble]]:
    """Independent copies of an ensemble after each of some refills on the same counts."""
    arrays, rng = counts.arrays(), np.random.default_rng(3)
    n_items, n_positions = counts.clicks.shape
    chain = ChainState(rng.random(n_items), rng.random(n_positions), np.ones(2))
    ridges, ensemble = single_component(n_items, n_positions), empty_ensemble(draws, n_items, n_positions)
    copies = []
    for _ in range(times):
        refill(arrays, ridges, chain, ensemble, Learnt.NOTHING.value, rng)
        copies.append(Ensemble(*(array.copy() for array in ensemble)))
    return arrays, copies


def test_the_draws_follow_the_posterior() -> None:
    """Law: the mean of theta kappa of each cell. 16,000 draws, worth 1,500 at least: the threshold is five standard
    errors or more. Negative control: with two more clicks in one cell the same draws are outside."""
    p = np.concatenate([e.theta[:, :, None] * e.kappa[:, None, :] for e in refilled(Counts(CLICKS, SKIPS), REFILLS)[1]])
    error = p.std(axis=0) / 1500**0.5
    assert (abs(p.mean(axis=0) - chances_by_importance(CLICKS, SKIPS)) < 5 * error).all()
    more = CLICKS + np.array([[0, 2], [0, 0], [0, 0]])
    assert (abs(p.mean(axis=0) - chances_by_importance(more, SKIPS)) > 5 * error).any()


def test_means_and_scale() -> None:
    _, (ensemble,) = refilled(Counts(CLICKS, SKIPS), 1)
    np.testing.assert_allclose(ensemble.kappa.sum(axis=1), 1.0)
    np.testing.assert_allclose(ensemble.mean_theta, ensemble.theta.mean(axis=0))
    np.testing.assert_allclose(ensemble.mean_kappa, ensemble.kappa.mean(axis=0))


def test_a_refill_from_far_away_reaches_the_posterior_at_once() -> None:
    """After a restore the chain may start anywhere: the first ensemble already agrees with 200,000 displays."""
    chances = np.outer([0.5, 0.3, 0.1], [1.0, 0.4])
    _, (ensemble,) = refilled(Counts(1e5 * chances, 1e5 * (1 - chances)), 1, draws=16)
    p = ensemble.theta[:, :, None] * ensemble.kappa[:, None, :]
    np.testing.assert_allclose(p, np.broadcast_to(chances, p.shape), atol=0.01)


@pytest.mark.parametrize(
    ("displays", "clicks", "expected"),
    [(0, 0, False), (2, 0, False), (3, 0, True), (0, 1, True), (-2, 0, False), (-3, 0, True), (1000, 50, True)],
)
def test_it_is_drawn_again_when_displays_or_clicks_change_by_3_percent(
    displays: float, clicks: int, expected: bool
) -> None:
    arrays, (ensemble,) = refilled(Counts(CLICKS, SKIPS, displays=100), 1, draws=2)
    arrays.displays[0] += displays
    arrays.position_clicks[0] += clicks
    assert needs_refill(arrays, ensemble.drawn_at, 0.03) == expected


def test_late_clicks_and_fading_are_changes() -> None:
    arrays, (ensemble,) = refilled(Counts(CLICKS, SKIPS, displays=100), 1, draws=2)
    assert not needs_refill(arrays, ensemble.drawn_at, 0.03)
    skip_to_click(arrays, 0, 1)
    assert needs_refill(arrays, ensemble.drawn_at, 0.03)
    arrays, (ensemble,) = refilled(Counts(CLICKS, SKIPS, displays=100), 1, draws=2)
    fade(arrays, 0.96)
    assert needs_refill(arrays, ensemble.drawn_at, 0.03)
