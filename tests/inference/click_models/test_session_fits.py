"""The contract of every fitted click model: its law, its estimates and its intervals, against plain readings."""

import importlib
from itertools import product
from typing import Any

import numpy as np
import pytest

from slotwise.arrange import EMPTY
from slotwise.clickmodels.cascade import Cascade
from slotwise.clickmodels.dcm import DCM
from slotwise.inference.click_models import _scan_fit, compared_models
from slotwise.inference.click_models._scan import ScanModel
from slotwise.inference.click_models._scan_fit import ScanFit
from slotwise.logs.sessions import QuerySessions, make_sessions
from tests.clickmodels.test_contract import law
from tests.inference.click_models.simulated_sessions import (
    ATTRACTION,
    CONTINUATION,
    ITEMS,
    KAPPA,
    PAIRS,
    POSITIONS,
    SATISFACTION,
    TERMINATION,
    VISITORS,
    simulated,
)

PATTERNS = np.array(list(product((0, 1), repeat=POSITIONS)))
DISPLAYS = [[3, 1, 7, 0], [2, EMPTY, 6, 5], [EMPTY, 4, EMPTY, EMPTY]]  # with empty positions too


def module(model: str) -> Any:
    return importlib.import_module(f"slotwise.inference.click_models.{model}")


@pytest.fixture(params=compared_models(), scope="module")
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def every_pattern(display: list[int]) -> QuerySessions:
    """One session for each pattern of clicks that is possible on a display."""
    patterns = [row for row in PATTERNS if not row[np.array(display) == EMPTY].any()]
    rows = [display] * len(patterns)
    return make_sessions("q", [str(k) for k in range(ITEMS)], list("1234"), rows, patterns)


def test_there_are_visitors_of_every_model() -> None:
    assert sorted(VISITORS) == compared_models()


def test_probabilities_add_up_and_agree_with_the_chances_of_clicks(model: str) -> None:
    fit = module(model).fit(simulated(VISITORS[model], 3000, seed=1))
    for display in DISPLAYS:
        sessions = every_pattern(display)
        chance = np.exp(fit.log_likelihood(sessions))
        assert (sessions.number @ chance) == pytest.approx(1.0)
        clicked = (sessions.number * chance) @ sessions.clicks
        assert fit.click_probabilities(sessions)[0] == pytest.approx(clicked)


@pytest.mark.parametrize("name", ["cascade", "dcm"])
def test_the_law_is_that_of_the_simulated_click_model(name: str) -> None:
    termination = np.ones(POSITIONS) if name == "cascade" else TERMINATION
    visitors = Cascade(ATTRACTION, POSITIONS) if name == "cascade" else DCM(ATTRACTION, TERMINATION)
    names = [str(k) for k in range(ITEMS)]
    fit = ScanFit(ScanModel(ATTRACTION, termination, 1.0, False), np.empty(0), names, list("1234"), None, False)
    sessions = every_pattern(DISPLAYS[0])
    expected = law(visitors, tuple(DISPLAYS[0]))
    for clicks, value in zip(sessions.clicks.astype(int), fit.log_likelihood(sessions), strict=True):
        assert np.exp(value) == pytest.approx(expected.get(tuple(clicks.tolist()), 0.0), abs=1e-12)


def test_no_other_parameters_are_more_likely(model: str) -> None:
    """The score is zero: the likelihood falls when any free parameter of the estimate moves by a thousandth."""
    sessions = simulated(VISITORS[model], 3000, seed=2)
    fit = module(model).fit(sessions)
    best = sessions.number @ fit.log_likelihood(sessions)
    moved = 0
    for other in moved_fits(fit):
        moved += 1
        assert sessions.number @ other.log_likelihood(sessions) < best + 1e-6
    assert moved >= 2 * ITEMS


def moved_fits(fit: Any) -> Any:
    """The fit with each of its interior parameters a little larger or smaller."""
    if isinstance(fit, ScanFit):
        scan = fit.scan
        arrays = [scan.attraction, scan.leave] if fit.leave_kind else [scan.attraction]
    else:
        arrays = [fit.estimates.theta, fit.estimates.kappa]
    for array in arrays:
        for k in range(array.size):
            value = array[k]
            if 0.001 < value < 0.999:
                for factor in (0.999, 1.001):
                    array[k] = value * factor
                    yield fit
                array[k] = value
    if isinstance(fit, ScanFit) and fit.has_going_on:
        for going_on in (fit.scan.going_on - 1e-3, fit.scan.going_on + 1e-3):
            yield ScanFit(fit.scan._replace(going_on=going_on), fit.error, [], [], fit.leave_kind, True)


def test_fits_of_many_parameters_agree_with_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parameters are fitted without bounds, and with fewer steps."""
    sessions = simulated(VISITORS["dbn"], 4000, seed=3)
    few = _scan_fit.fit_scan(sessions, "satisfaction", True, True, 0.0)
    monkeypatch.setattr(_scan_fit, "MOST_ERRORS", 3)
    many = _scan_fit.fit_scan(sessions, "satisfaction", True, True, 0.0)
    assert sessions.number @ many.log_likelihood(sessions) == pytest.approx(
        sessions.number @ few.log_likelihood(sessions), abs=1e-3
    )
    assert many.scan.attraction == pytest.approx(few.scan.attraction, abs=1e-3)
    assert np.isnan(many.error[:-1]).all()


TRUTH: dict[str, list[np.ndarray]] = {
    "pbm": [ATTRACTION, KAPPA],
    "cascade": [ATTRACTION],
    "dcm": [ATTRACTION, TERMINATION[:-1]],  # nothing shows whether a visitor leaves after the last position
    "sdbn": [ATTRACTION, SATISFACTION],
    "dbn": [ATTRACTION, SATISFACTION, np.array([CONTINUATION])],
    "ubm": [ATTRACTION, np.array([PAIRS[k, last] for k in range(POSITIONS) for last in range(k + 1)])],
}


def coverage(model: str, data_sets: int, narrower: float = 1.0) -> np.ndarray:
    """The share of data sets whose 90 % intervals contain each parameter. The last item is never shown."""
    inside = []
    for seed in range(data_sets):
        fit = module(model).fit(simulated(VISITORS[model], 4000, seed, n_items=ITEMS - 1))
        found = []
        for group, truth in zip(fit.parameters(0.9), TRUTH[model], strict=True):
            known = truth.size - (group.kind in ("theta", "attraction", "satisfaction"))
            low, high = group.intervals[:known].T
            centre, right = group.values[:known], truth[:known]
            low, high = centre - narrower * (centre - low), centre + narrower * (high - centre)
            found.append(((low <= right) & (right <= high))[(right < 1.0)])
        inside.append(np.concatenate(found))
    return np.asarray(np.mean(inside, axis=0))


@pytest.mark.parametrize("name", ["pbm", "dcm"])
def test_intervals_contain_the_true_parameters(name: str) -> None:
    """90 % intervals over 40 data sets: on average over the parameters (10 of each), between 84 and 96 %.

    If parameters were independent, the mean of 10 x 40 outcomes would leave this range for one seed in 15,000.
    """
    assert 0.84 < coverage(name, 40).mean() < 0.96


def test_half_the_interval_is_detected() -> None:
    """Negative control: intervals of half the length contain the truth in about 59 %."""
    assert coverage("pbm", 40, narrower=0.5).mean() < 0.7


@pytest.mark.statistics
def test_coverage_of_each_parameter_over_300_data_sets(model: str) -> None:
    """Each of the parameters is covered in 85 to 95 % of 300 data sets. A coverage of 90 % leaves this range for one
    parameter in 260, so one more parameter of a model may be outside, but inside 83 to 97 %."""
    share = coverage(model, 300)
    print(f"{model}: {share.round(3).tolist()}")
    assert ((share >= 0.85) & (share <= 0.95)).sum() >= share.size - 1
    assert ((share >= 0.83) & (share <= 0.97)).all()


def test_what_the_sessions_do_not_determine_has_no_interval(model: str) -> None:
    """The last item was never shown, and the third position was never clicked."""
    draw = VISITORS[model]
    rng = np.random.default_rng(3)
    displays = rng.random((4000, ITEMS - 1)).argsort(axis=1)[:, :POSITIONS]
    clicks = draw(rng, displays)
    keep = ~clicks[:, 2]
    names = [str(k) for k in range(ITEMS)]
    sessions = make_sessions("q", names, list("1234"), displays[keep], clicks[keep])
    fit = module(model).fit(sessions)
    first = fit.parameters(0.9)[0]
    assert first.errors[-1] == np.inf
    assert first.intervals[-1].tolist() == [0.0, 1.0]
    assert np.isfinite(first.errors[:-1]).all()
    if model == "dcm":
        termination = fit.parameters(0.9)[1]
        assert np.isinf(termination.errors).tolist() == [False, False, True, True]
    if model == "pbm":
        assert fit.parameters(0.9)[1].values[2] == 0.0


@pytest.mark.parametrize("clicks", [0, 1])
def test_sessions_without_clicks_or_with_nothing_else_have_estimates(model: str, clicks: int) -> None:
    rows = [[0, 1, 2, 3], [3, 2, 1, 0]] * 30
    names = [str(k) for k in range(ITEMS)]
    fit = module(model).fit(make_sessions("q", names, list("1234"), rows, np.full((60, 4), clicks)))
    for group in fit.parameters(0.9):
        assert ((group.values >= 0.0) & (group.values <= 1.0)).all()
        assert (group.intervals[:, 0] <= group.values).all()
        assert (group.values <= group.intervals[:, 1]).all()
    assert fit.parameters(0.9)[0].values[0] == pytest.approx(clicks, abs=1e-6)


def test_a_log_with_one_item_and_one_position_can_be_fitted(model: str) -> None:
    sessions = make_sessions("q", ["only"], ["1"], np.zeros((100, 1)), np.arange(100)[:, None] % 4 == 0)
    (rate, *_) = module(model).fit(sessions).parameters(0.9)
    assert rate.values[0] == pytest.approx(0.25, abs=1e-6)
