"""Simulation-based calibration: the rank of a true value among the draws of its posterior is uniform.

Law (Talts, Betancourt, Simpson, Vehtari and Gelman, 2018): theta and kappa are drawn from the prior, a policy is
simulated on them for a random number of rounds, and the posterior is drawn given the counts. Displays may depend on
earlier clicks, because the likelihood stays the same. The share of draws below the true value is then uniform, for
every theta, kappa and product.
The draws are thinned until they are nearly independent. Uniformity is tested by Kolmogorov-Smirnov with a false-alarm
rate of 1e-6 for each of the 38 variables of a case, at most 3e-4 in all. Ties, where kappa is 1 in many draws, are
broken at random.
"""

import numpy as np
import pytest
from scipy.stats import kstwo

import slotwise as sw
from slotwise.checks import Floats
from slotwise.inference.components import components, normalise
from slotwise.simulation.simulate import counts_after

N_ITEMS, N_POSITIONS, DRAWS = 6, 4, 200
ALARM = 1e-6
CASES = {
    "uniform": ("uniform", "none"),
    "uniform, kappa_1 = 1": ("uniform", "first"),
    "learnt": ("learnt", "none"),
    "learnt, kappa_1 = 1": ("learnt", "first"),
    "falling": ("falling", "none"),
    "Beta(2, 6)": ((2.0, 6.0), "none"),
}


def true_values(prior: object, reference: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Theta and kappa drawn from the prior."""
    if prior == "uniform":
        a, b = 1.0, 1.0
    elif prior == "learnt":
        a, b = 1.0 / rng.random(2)
    elif prior == "falling":
        a, b = 1.0, 1.0 / rng.random()
    else:
        a, b = prior  # type: ignore[misc]
    theta, kappa = rng.beta(a, b, N_ITEMS), rng.random(N_POSITIONS)
    if reference == "first":
        kappa[0] = 1.0
    return theta, kappa


def levels(case: str, data_sets: int, believed: object = None) -> Floats:
    """Data sets x variables: the share of draws below the true value.

    `believed` replaces the true prior in the posterior. The negative controls pass a wrong prior.
    """
    prior, reference = CASES[case]
    rng = np.random.default_rng(17)
    shares = []
    for k in range(data_sets):
        theta, kappa = true_values(prior, reference, rng)
        rounds = int(10.0 ** rng.uniform(1.0, 3.5))
        counts = counts_after("slot_ts", sw.PBM(theta, kappa), rounds, seed=k)
        post = sw.posterior(counts, DRAWS, believed or prior, reference, ess=0.8 * DRAWS, seed=k)  # type: ignore[arg-type]
        theta, kappa = theta[None], kappa[None]
        normalise(theta, kappa, *components(counts.arrays()), int(reference == "first"))
        shares.append(share_below(_variables(post.theta, post.kappa), _variables(theta, kappa), rng))
    return np.array(shares)


def _variables(theta: Floats, kappa: Floats) -> Floats:
    products = (theta[:, :, None] * kappa[:, None, :]).reshape(len(theta), -1)
    return np.concatenate([theta, kappa, products], axis=1)


def share_below(draws: Floats, value: Floats, rng: np.random.Generator) -> Floats:
    below, same = (draws < value).sum(axis=0), (draws == value).sum(axis=0)
    return (below + rng.random(value.shape[1]) * (same + 1)) / (len(draws) + 1)


def distances(shares: Floats) -> Floats:
    """The Kolmogorov-Smirnov distance from the uniform law, for each variable."""
    ordered, n = np.sort(shares, axis=0), len(shares)
    steps = np.arange(n + 1)[:, None] / n
    return np.asarray(np.maximum((steps[1:] - ordered).max(axis=0), (ordered - steps[:-1]).max(axis=0)))


def n_not_uniform(shares: Floats) -> int:
    """The number of variables whose shares are not uniform."""
    return int((distances(shares) > kstwo.isf(ALARM, len(shares))).sum())


@pytest.mark.parametrize("case", ["uniform", "learnt, kappa_1 = 1"])
def test_calibration_with_few_data_sets(case: str) -> None:
    """50 data sets reveal only gross errors, such as the wrong prior of the negative control below."""
    assert n_not_uniform(levels(case, 50)) == 0


def test_few_data_sets_reveal_a_very_wrong_prior() -> None:
    assert n_not_uniform(levels("uniform", 50, believed=(1.0, 20.0))) > 0


@pytest.mark.statistics
@pytest.mark.parametrize("case", CASES)
def test_calibration(case: str) -> None:
    shares = levels(case, 500)
    print(f"{case}: largest distance of 38 is {distances(shares).max():.3f}, limit {kstwo.isf(ALARM, 500):.3f}")
    assert n_not_uniform(shares) == 0


@pytest.mark.statistics
def test_many_data_sets_reveal_a_slightly_wrong_prior() -> None:
    assert n_not_uniform(levels("uniform", 500, believed=(1.0, 2.0))) > 0
