"""Do 90 % intervals of the posterior contain the true values when a learning policy chose the displays?

Law: slot_ts chooses the displays of T rounds, and the posterior is drawn given the counts. The true theta and kappa
are drawn from the uniform prior for every data set, or are those of a setting of the paper. In the first case, each
interval contains the true value in exactly 90 % of data sets, for every T. In the second case, coverage is close to
90 % only because the data outweigh the prior.

The products theta_i kappa_l, averaged over all items and positions, must be covered in 87 to 93 % of 500 data sets.
Products of the same data set are correlated, so the share has a standard deviation of up to 0.7 %, which is printed. A
true coverage of 90 % is outside the range with a probability below 2e-5. Two settings are outside the range at some T
and have their own range around the measured value: intervals are too wide on q10, where half of the items are hardly
ever clicked, and too narrow on near-one. Each normalised theta and kappa must be covered in at least 80 % of data sets,
but on near-one, where 77 % was measured, in 73 %. The share of a single variable has a standard deviation of up to
1.8 %. The seed is fixed. The negative control is intervals of half the width, as wide as those of the random walk were.
"""

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import Floats
from slotwise.inference.components import components, normalise
from slotwise.paper.named_click_models import setting
from slotwise.simulation.simulate import counts_after

FROM_PRIOR = "drawn from the prior"
BANDS = {
    FROM_PRIOR: (0.87, 0.93),
    "standard": (0.87, 0.93),
    "near-zero": (0.87, 0.93),
    "near-one": (0.84, 0.93),
    "q10": (0.87, 0.945),
}


def model_of(name: str, run: int) -> sw.PBM:
    if name != FROM_PRIOR:
        return setting(name)
    rng = np.random.default_rng([5, run])
    return sw.PBM(rng.random(10), rng.random(5))


def coverage(name: str, rounds: int, data_sets: int) -> tuple[Floats, Floats, Floats]:
    """For each data set: the share of covered products, the same with intervals of half the width, and whether each
    theta and kappa is covered.
    """
    products, halves, single = [], [], []
    for run in range(data_sets):
        model = model_of(name, run)
        counts = counts_after("slot_ts", model, rounds, seed=23, run=run)
        post = sw.posterior(counts, 1000, ess=300, seed=run)
        theta, kappa = model.theta[None].copy(), model.kappa[None].copy()
        normalise(theta, kappa, *components(counts.arrays()), 0)
        truth, draws = _variables(theta, kappa), _variables(post.theta, post.kappa)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        distance, width = np.abs(truth[0] - (low + high) / 2), high - low
        n_variables = model.theta.size + model.kappa.size
        single.append((distance <= width / 2)[:n_variables])
        products.append((distance <= width / 2)[n_variables:].mean())
        halves.append((distance <= width / 4)[n_variables:].mean())
    return np.array(products), np.array(halves), np.array(single)


def _variables(theta: Floats, kappa: Floats) -> Floats:
    products = (theta[:, :, None] * kappa[:, None, :]).reshape(len(theta), -1)
    return np.concatenate([theta, kappa, products], axis=1)


def test_coverage_with_few_data_sets() -> None:
    """60 data sets of 1,000 rounds: the share has a standard deviation of 1.5 %; the limits are five times as far
    away."""
    products, halves, _ = coverage("standard", 1_000, 60)
    assert 0.82 < products.mean() < 0.98
    assert halves.mean() < 0.82


@pytest.mark.statistics
@pytest.mark.parametrize("rounds", [1_000, 10_000, 100_000])
@pytest.mark.parametrize("name", BANDS)
def test_coverage(name: str, rounds: int) -> None:
    products, _, single = coverage(name, rounds, 500)
    each = np.array2string(single.mean(axis=0), precision=2, max_line_width=200)
    error = products.std() / np.sqrt(len(products))
    print(f"\n{name}, {rounds:,} rounds: products {products.mean():.3f} ± {error:.3f}; theta, kappa {each}", flush=True)
    low, high = BANDS[name]
    assert low <= products.mean() <= high
    assert single.mean(axis=0).min() >= (0.73 if name == "near-one" else 0.80)
