"""Simulation-based calibration with very few counts, for connected and for disconnected designs.

Law: that of test_calibration.py, with 4 items at 3 positions after 10 and after 200 displays. Given the counts, the
rank of a true value is uniform among its draws, so it is uniform over any kind of design too. Displays are random among
those that the design allows. The variables are every theta and kappa, each scaled within its component, and the click
probability of every cell that the design can observe.

Uniformity is tested by Kolmogorov-Smirnov with a false-alarm rate of 1e-6 for each of at most 19 variables. Intervals:
90 % intervals contain the true value in 90 % of the data sets, or in more where kappa is exactly 1 with a positive
probability. The limit is four standard deviations below 90 %, and 0.7 % more because the ends come from 200 draws. The
negative control is a posterior under a wrong prior.
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import kstwo

import slotwise as sw
from slotwise.checks import Floats
from slotwise.inference.components import components, normalise
from tests.statistics.test_calibration import ALARM, distances, share_below

N_ITEMS, N_POSITIONS, DRAWS = 4, 3, 200
# the positions at which each item may be shown
ANYWHERE = [[0, 1, 2]] * 4
TWO_COMPONENTS = [[0], [0], [1, 2], [1, 2]]
ONE_ITEM_PER_POSITION = [[0], [1], [2], []]
DESIGNS = {"connected": [ANYWHERE], "disconnected": [TWO_COMPONENTS, ONE_ITEM_PER_POSITION]}


class Ranks(NamedTuple):
    """Data sets x variables: the share of draws below the true value, and whether the 90 % interval contains it.

    Both are NaN for a variable that a design does not have; the second one also where no interval is reported.
    """

    shares: Floats
    covered: Floats


def random_counts(
    design: list[list[int]], theta: Floats, kappa: Floats, rounds: int, rng: np.random.Generator
) -> sw.Counts:
    """Counts of displays that are drawn from all that the design allows."""
    displays = np.array(
        [
            display
            for display in permutations(range(N_ITEMS), N_POSITIONS)
            if all(position in design[item] for position, item in enumerate(display))
        ]
    )
    views = np.zeros((N_ITEMS, N_POSITIONS))
    np.add.at(views, (displays[rng.integers(0, len(displays), rounds)], np.arange(N_POSITIONS)), 1.0)
    clicks = rng.binomial(views.astype(int), np.outer(theta, kappa))
    return sw.Counts(clicks, views - clicks, displays=rounds)


def ranks(kind: str, rounds: int, data_sets: int, believed: object = "uniform") -> Ranks:
    """The ranks in data sets of this kind; `believed` is the prior of the posterior, wrong in the negative control."""
    rng = np.random.default_rng([29, rounds, kind == "connected"])
    shares, covered = [], []
    while len(shares) < data_sets:
        design = DESIGNS[kind][len(shares) % len(DESIGNS[kind])]
        theta, kappa = rng.random(N_ITEMS), rng.random(N_POSITIONS)
        counts = random_counts(design, theta, kappa, rounds, rng)
        items, positions = components(counts.arrays())
        if (kind == "connected") != (len(set(positions.tolist()) | set(items.tolist())) == 1):
            continue  # after 10 displays, a few designs are not connected by chance
        post = sw.posterior(counts, DRAWS, believed, ess=0.8 * DRAWS, seed=len(shares), threads=1)  # type: ignore[arg-type]
        theta, kappa = theta[None], kappa[None]
        normalise(theta, kappa, items, positions, 0)
        cells = [(i, p) for i in range(N_ITEMS) for p in range(N_POSITIONS) if p in design[i]]
        draws, truth = _variables(post.theta, post.kappa, cells), _variables(theta, kappa, cells)
        shares.append(np.where(np.isnan(truth[0]), np.nan, share_below(draws, truth, rng)))
        low, high = np.concatenate(post.intervals(0.9)).T
        value = np.concatenate([theta[0], kappa[0]])
        covered.append(np.where(np.isnan(low), np.nan, (low <= value) & (value <= high)))
    return Ranks(np.array(shares), np.array(covered))


def _variables(theta: Floats, kappa: Floats, cells: list[tuple[int, int]]) -> Floats:
    """Every theta, every kappa, and the products of the cells; NaN for the other cells."""
    products = np.full((len(theta), N_ITEMS, N_POSITIONS), np.nan)
    for item, position in cells:
        products[:, item, position] = theta[:, item] * kappa[:, position]
    return np.concatenate([theta, kappa, products.reshape(len(theta), -1)], axis=1)


def not_uniform(shares: Floats) -> dict[int, float]:
    """The variables whose shares are not uniform, with their Kolmogorov-Smirnov distances."""
    found = {}
    for variable, known in _known_columns(shares):
        distance = float(distances(known[:, None])[0])
        if distance > kstwo.isf(ALARM, known.size):
            found[variable] = distance
    return found


def too_rarely_covered(covered: Floats) -> dict[int, float]:
    """The thetas and kappas whose reported intervals contain the true value too rarely, with their coverage."""
    return {
        variable: float(known.mean())
        for variable, known in _known_columns(covered)
        if known.mean() < 0.9 - 4 * np.sqrt(0.09 / known.size) - 0.007
    }


def _known_columns(values: Floats) -> list[tuple[int, Floats]]:
    """The columns that are not all NaN, without their NaNs."""
    columns = [(variable, column[~np.isnan(column)]) for variable, column in enumerate(values.T)]
    return [(variable, known) for variable, known in columns if known.size]


@pytest.mark.parametrize("kind", DESIGNS)
def test_calibration_with_few_data_sets(kind: str) -> None:
    """40 data sets of 10 displays reveal only gross errors, such as the wrong prior of the negative control."""
    result = ranks(kind, 10, 40)
    assert not_uniform(result.shares) == {}
    assert too_rarely_covered(result.covered) == {}


def test_few_data_sets_reveal_a_very_wrong_prior() -> None:
    result = ranks("disconnected", 10, 40, believed=(1.0, 20.0))
    assert not_uniform(result.shares)
    assert too_rarely_covered(result.covered)


def test_an_unlinked_position_has_no_interval() -> None:
    """Its kappa is 1 by convention, which covers the scaled truth in every data set and says nothing about it."""
    covered = ranks("disconnected", 10, 2).covered  # one data set of each design
    assert np.isnan(covered[:, N_ITEMS:]).tolist() == [[True, False, False], [True, True, True]]
    assert not np.isnan(covered[:, :N_ITEMS]).any()


@pytest.mark.statistics
@pytest.mark.parametrize("rounds", [10, 200])
@pytest.mark.parametrize("kind", DESIGNS)
def test_calibration_at_small_counts(kind: str, rounds: int) -> None:
    result = ranks(kind, rounds, 2000)
    largest = max(float(distances(known[:, None])[0]) for _, known in _known_columns(result.shares))
    cover = {variable: round(float(known.mean()), 3) for variable, known in _known_columns(result.covered)}
    print(f"{kind}, {rounds} displays: largest distance {largest:.3f}; intervals contain the truth in {cover}")
    assert not_uniform(result.shares) == {}
    assert too_rarely_covered(result.covered) == {}


@pytest.mark.statistics
def test_many_data_sets_reveal_a_slightly_wrong_prior() -> None:
    assert not_uniform(ranks("connected", 10, 2000, believed=(1.0, 2.0)).shares)
