"""Goodness of fit: the false-alarm rate, the power, and which data are not tested.

Law of the false alarms: clicks of each cell are Binomial(views, theta kappa). Among 2,000 data sets, a share of 0.05 is
expected to have a p-value below 0.05. A share above 0.07 is four standard deviations away and occurs once in 30,000
seeds.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

import slotwise as sw
from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.goodness_of_fit import MIN_CLICKS, _moments, discoveries, goodness_of_fit
from slotwise.paper.named_click_models import setting

DATA_SETS = 2_000
MANY_ITEMS = sw.PBM(np.linspace(0.01, 0.1, 60), [1.0, 0.6, 0.4, 0.3, 0.2])


def simulated_counts(model: sw.PBM, views: int, data_sets: int, uneven: bool = False, seed: int = 1) -> list[Counts]:
    """Counts of many data sets. Each cell has `views` displays, or (uneven) a heavy-tailed random number of them."""
    rng, chances = np.random.default_rng(seed), np.outer(model.theta, model.kappa)
    displays = np.full((data_sets, *chances.shape), views)
    if uneven:
        displays = 1 + (views * rng.pareto(1.2, displays.shape)).astype(int)
    clicks = rng.binomial(displays, chances)
    return [Counts(clicked, displayed - clicked) for clicked, displayed in zip(clicks, displays, strict=True)]


def share_below(p_values: Floats, level: float) -> float:
    return float((p_values[~np.isnan(p_values)] < level).mean())


@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize(("name", "views"), [("q10", 1000), ("q1", 1000), ("near-zero", 100), ("near-one", 20)])
def test_false_alarms_are_as_rare_as_stated(name: str, views: int, uneven: bool) -> None:
    tested = goodness_of_fit(simulated_counts(setting(name), views, DATA_SETS, uneven))
    assert np.isnan(tested.p_value).mean() < 0.01
    assert 0.02 < share_below(tested.p_value, 0.05) < 0.07
    assert share_below(tested.p_value, 0.005) < 0.012  # 0.005, and four standard deviations


def test_a_chi_squared_law_would_raise_false_alarms_where_clicks_are_few() -> None:
    """Negative control: 60 items with about 14 clicks each, three in a cell; 500 data sets, so the limit is 0.09."""
    tested = goodness_of_fit(simulated_counts(MANY_ITEMS, 100, 500))
    assert share_below(tested.p_value, 0.05) < 0.09
    assert share_below(chi2.sf(tested.deviance, tested.degrees), 0.05) > 0.2


def cascade(theta: list[float], n_positions: int, displays: int, seed: int = 0) -> Counts:
    """Visitors examine random displays from the top and leave at the first click."""
    rng, n = np.random.default_rng(seed), len(theta)
    shown = rng.permuted(np.tile(np.arange(n), (displays, 1)), axis=1)[:, :n_positions]
    would = rng.random(shown.shape) < np.array(theta)[shown]
    first = would & (np.cumsum(would, axis=1) == 1)
    clicks, views = np.zeros((n, n_positions)), np.zeros((n, n_positions))
    for position in range(n_positions):
        np.add.at(views[:, position], shown[:, position], 1)
        np.add.at(clicks[:, position], shown[first[:, position], position], 1)
    return Counts(clicks, views - clicks)


def test_the_cascade_model_is_detected_where_it_differs_from_a_pbm() -> None:
    """An item below one that is almost always clicked is hardly examined; no kappa of its position explains that."""
    tested = goodness_of_fit([cascade([0.9, 0.5, 0.05, 0.05], 3, 20_000)])
    assert tested.p_value[0] < 1e-9
    assert tested.size[0] > 0.05


def test_a_cell_with_a_deviating_rate_is_detected_and_named() -> None:
    """One of 24 cells has 1.5 times its clicks; each cell has 4,000 views. The deviance at the exact rates is above 60:
    by the noncentral chi-squared law with 15 degrees of freedom, the power at level 0.001 is above 0.99 for each of 20
    data sets."""
    chances = np.outer(setting("standard").theta[:6], setting("standard").kappa[:4])
    chances[1, 2] *= 1.5
    clicks = np.random.default_rng(3).binomial(4000, chances, (20, *chances.shape))
    tested = goodness_of_fit([Counts(each, 4000 - each) for each in clicks])
    assert (tested.p_value < 0.001).sum() >= 18
    assert np.mean((tested.item == 1) & (tested.position == 2)) > 0.8
    assert (tested.observed > tested.fitted)[(tested.item == 1) & (tested.position == 2)].all()


@pytest.mark.parametrize("off", [0.02, 0.1])
@pytest.mark.parametrize("views", [1e4, 1e7])
def test_the_size_of_a_deviation_does_not_depend_on_the_number_of_views(off: float, views: float) -> None:
    """The rates have a deviation that no theta and kappa can fit. The data have no noise, so that the correction for
    noise lowers the size slightly."""
    rates = 0.1 * np.array([[1 + off, 1 - off], [1 - off, 1 + off]])
    (size,) = goodness_of_fit([Counts(views * rates, views * (1 - rates))]).size
    noise = 1 / (4 * views * 0.1 / 0.9)
    assert size == pytest.approx(np.sqrt(max(off**2 - noise, 0.0)), rel=0.02)


def test_degrees_of_freedom_depend_on_components_and_exclude_rare_items() -> None:
    rich = np.full((3, 3), 100.0)
    two_components = np.zeros((4, 4))
    two_components[:2, :2] = two_components[2:, 2:] = 100.0
    rare = np.vstack([rich, [1, 2, 0]])
    assert rare[3].sum() < MIN_CLICKS
    for clicks, degrees in [(rich, 4), (two_components, 2), (rare, 4), (np.diag([100.0, 100.0]), 0), (rich[:1], 0)]:
        tested = goodness_of_fit([Counts(clicks, 5 * clicks)])
        assert tested.degrees.tolist() == [degrees]
        assert np.isnan(tested.p_value[0]) == (degrees == 0)


def test_nothing_is_tested_on_fewer_clicks_than_cells() -> None:
    clicks = np.zeros((20, 30))
    for k in range(20):
        clicks[k, (k + np.arange(15)) % 30] = 1.0  # 15 clicks per item, 10 per position
    assert np.isnan(goodness_of_fit([Counts(clicks, 10.0 - clicks)]).p_value).all()


@pytest.mark.parametrize(("views", "chance"), [(7, 0.3), (400, 0.004), (400, 0.996), (5000, 0.002), (900, 0.03)])
def test_the_moments_of_a_cell_are_those_of_its_binomial_law(views: int, chance: float) -> None:
    """Compared with 200,000 draws: within five standard errors of the mean and, roughly, of the variance."""
    clicks = np.random.default_rng(0).binomial(views, chance, 200_000).astype(float)
    skips, expected = views - clicks, views * chance
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [
            np.where(x > 0, x * np.log(x / mean), 0) for x, mean in [(clicks, expected), (skips, views - expected)]
        ]
    off = 2 * sum(terms)
    mean, variance = _moments(float(views), chance)
    assert mean == pytest.approx(off.mean(), abs=5 * off.std() / np.sqrt(off.size))
    assert variance == pytest.approx(off.var(), rel=0.05)


def test_the_moments_are_continuous_where_the_series_begins() -> None:
    below, above = _moments(1_000_000.0, 14.99e-6), _moments(1_000_000.0, 15.01e-6)
    assert below == pytest.approx(above, rel=0.01)


def test_discoveries_are_those_of_benjamini_and_hochberg() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.02, 0.5, 0.034])  # limits 0.01, 0.02, 0.03, 0.04, 0.05 for five tests
    assert discoveries(p).tolist() == [True, False, True, True, False, True]
    assert discoveries(p, 0.01).tolist() == [False] * 6
    assert discoveries(np.full(3, np.nan)).tolist() == [False] * 3


def test_discoveries_are_rare_when_every_model_is_correct() -> None:
    """2,000 sets of 20 uniform p-values: 5 % of the sets have discoveries; four standard deviations are 2 %."""
    rng = np.random.default_rng(5)
    some = [discoveries(rng.random(20)).any() for _ in range(2_000)]
    assert 0.03 < np.mean(some) < 0.07


NUMBERS = st.integers(0, 40).map(float) | st.sampled_from([0.0, 0.0, 1e-9, 0.5, 1e6, 1e12])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.tuples(st.integers(1, 5), st.integers(1, 5)), st.data())
def test_any_counts_give_a_probability_or_none(shape: tuple[int, int], data: st.DataObject) -> None:
    clicks, skips = (data.draw(arrays(np.float64, shape, elements=NUMBERS)) for _ in range(2))
    tested = goodness_of_fit([Counts(clicks, skips)])
    (p_value,), (size,) = tested.p_value, tested.size
    assert np.isnan(p_value) == np.isnan(size)
    if not np.isnan(p_value):
        assert 0 <= p_value <= 1
        assert 0 <= size < np.inf
        assert tested.degrees[0] > 0
        assert clicks[tested.item[0], tested.position[0]] + skips[tested.item[0], tested.position[0]] > 0
