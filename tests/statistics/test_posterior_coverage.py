"""Do 90 % intervals of the posterior hold the truth, when the displays were chosen by a policy that learns?

Law: theta and kappa are those of a setting of the paper, slot_ts plays T rounds, and the posterior is drawn given what
it counted. The truth is fixed, so nothing makes the coverage 90 % but that the data outweigh the prior.
Products theta_i kappa_l, all of them together, must be covered in 87 to 93 % of 500 data sets. Products of one data set
go together, so the share has a standard deviation of about 0.4 % (measured over data sets, and printed); a share of
90 % then falls outside with a probability below 1e-9. Normalised thetas and kappas must be covered in 80 % at least,
each of them; one covered in 85 % falls below with a probability of 0.2 %. The seed is fixed.
The control is an interval of half the width, as the random walk's were.
"""

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import Floats
from slotwise.paper.settings import setting
from slotwise.simulation.simulate import counts_after


def covered(name: str, rounds: int, data_sets: int, narrower: float = 1.0) -> tuple[Floats, Floats]:
    """For each data set: the share of products covered, and whether each theta and each kappa but the best is."""
    model = setting(name)
    products, others = [], []
    for k in range(data_sets):
        counts = counts_after("slot_ts", model, rounds, seed=23, run=k)
        found = sw.posterior(counts, 1000, ess=300, seed=k)
        truth = np.concatenate([model.theta, model.kappa[1:], np.outer(model.theta, model.kappa).ravel()])
        each = (found.theta[:, :, None] * found.kappa[:, None, :]).reshape(1000, -1)
        draws = np.concatenate([found.theta, found.kappa[:, 1:], each], axis=1)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        middle = (low + high) / 2
        inside = np.abs(truth - middle) <= narrower * (high - low) / 2
        own = model.theta.size + model.kappa.size - 1
        others.append(inside[:own])
        products.append(inside[own:].mean())
    return np.array(products), np.array(others)


def test_coverage_in_short() -> None:
    """60 data sets of 1,000 rounds: the share has a standard deviation of 1.3 %, the band is six of them wide."""
    products, _ = covered("q10", 1_000, 60)
    assert 0.82 < products.mean() < 0.98
    narrow, _ = covered("q10", 1_000, 60, narrower=0.5)
    assert narrow.mean() < 0.82


@pytest.mark.statistics
@pytest.mark.parametrize("rounds", [1_000, 10_000, 100_000])
@pytest.mark.parametrize("name", ["standard", "near-zero", "near-one", "q10"])
def test_coverage(name: str, rounds: int) -> None:
    products, others = covered(name, rounds, 500)
    each = np.array2string(others.mean(axis=0), precision=2)
    error = products.std() / np.sqrt(len(products))
    print(f"{name}, {rounds:,} rounds: products {products.mean():.3f} ± {error:.3f}; theta, kappa {each}")
    assert 0.87 <= products.mean() <= 0.93
    assert others.mean(axis=0).min() >= 0.80
