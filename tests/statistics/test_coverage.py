"""Do 90 % intervals of the fit contain the true values in 90 % of data sets?

Law: clicks of each item at each position are Binomial(views, theta kappa). Theta and kappa are those of a simulated
setting, and the least attractive item has 55 expected clicks. Each of the 10 thetas and of the 4 kappas that are not 1
by convention must be covered in 85 to 95 % of 500 data sets. A parameter with a coverage of 0.9 is outside this range
for one seed in 3,200, and any of the 42 parameters of the three settings for one seed in about 75. The seed is fixed.
The long test has 20,000 data sets and a range of 88 to 92 %, which is 9 standard deviations. The range is wide because
the law of the estimate is normal only in the limit.
"""

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.estimation.fit import Fit, fit_many
from slotwise.paper.named_click_models import SIMULATED, setting

VIEWS = 2_000


def fits(name: str, data_sets: int) -> list[Fit]:
    model, rng = setting(name), np.random.default_rng(7)
    clicks = rng.binomial(VIEWS, np.outer(model.theta, model.kappa), (data_sets, 10, 5))
    return fit_many([Counts(each, VIEWS - each) for each in clicks])


def coverage(name: str, fitted: list[Fit], narrower: float = 1.0) -> Floats:
    """The share of data sets whose interval contains the true value, for each theta and each kappa but the first.

    Interval lengths are multiplied by `narrower`.
    """
    model = setting(name)
    truth = np.concatenate([model.theta, model.kappa[1:]])
    value = np.log([np.concatenate([each.theta, each.kappa[1:]]) for each in fitted])
    bounds = np.log([np.concatenate([each.intervals(0.9).theta, each.intervals(0.9).kappa[1:]]) for each in fitted])
    bounds = value[..., None] + narrower * (bounds - value[..., None])
    # an interval cut at 1 contains every true value above its lower end
    inside = (bounds[..., 0] <= np.log(truth)) & ((np.log(truth) <= bounds[..., 1]) | (bounds[..., 1] >= 0.0))
    return inside.mean(axis=0)


@pytest.mark.parametrize("name", SIMULATED)
def test_ninety_per_cent_intervals_contain_the_true_value(name: str) -> None:
    fitted = fits(name, 500)
    assert all(each.identifiable for each in fitted)
    share = coverage(name, fitted)
    assert ((share > 0.85) & (share < 0.95)).all(), share


def test_standard_errors_half_as_large_are_detected() -> None:
    """Negative control: intervals of half the length cover about 59 %."""
    share = coverage("standard", fits("standard", 500), narrower=0.5)
    assert (share < 0.7).all()


def test_estimates_are_right_on_average() -> None:
    """The mean of 500 estimates is within 5 standard errors of the true value; a false alarm has probability 1 / 1.7e6
    for each of 14 parameters. The limit also allows for the bias of a log-normal estimate: half its squared relative
    error."""
    model, fitted = setting("standard"), fits("standard", 500)
    for value, truth in [
        (np.array([each.theta for each in fitted]), model.theta),
        (np.array([each.kappa for each in fitted])[:, 1:], model.kappa[1:]),
    ]:
        spread = value.std(axis=0)
        assert (np.abs(value.mean(axis=0) - truth) < 5 * spread / np.sqrt(500) + spread**2 / truth).all()


@pytest.mark.statistics
@pytest.mark.parametrize("name", SIMULATED)
def test_coverage_over_many_data_sets(name: str) -> None:
    share = coverage(name, fits(name, 20_000))
    print(f"{name:9} coverage of 90 % intervals: {share.min():.3f} to {share.max():.3f}")
    assert ((share > 0.88) & (share < 0.92)).all(), share
