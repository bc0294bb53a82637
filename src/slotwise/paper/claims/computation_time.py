"""Claims about computation time."""

import numpy as np

from slotwise.paper.claims.claim import Claim, Criterion
from slotwise.paper.experiments import PB_MHB_1, PB_MHB_10
from slotwise.paper.results import Results

AFFORDABLE = 20.0  # milliseconds


def _affordable(results: Results) -> list[Criterion]:
    return [
        Criterion(label, time.milliseconds < AFFORDABLE, f"{time.milliseconds:.2g} ms per recommendation")
        for (experiment, label), time in results.times.items()
        if experiment == "tab-time"
    ]


def _sweeps(results: Results) -> list[Criterion]:
    one_sweep, ten_sweeps = (results.times["tab-time", contender.label] for contender in (PB_MHB_1, PB_MHB_10))
    times = ten_sweeps.milliseconds / one_sweep.milliseconds
    low, high = ten_sweeps.spread[0] / one_sweep.spread[1], ten_sweeps.spread[1] / one_sweep.spread[0]
    return [Criterion("m = 10 over m = 1", 5.0 <= times <= 15.0, f"{times:.1f} times ({low:.1f} to {high:.1f})")]


def _steps(results: Results) -> list[Criterion]:
    steps = np.log([point.steps for point in results.growth])
    times = np.log([point.milliseconds for point in results.growth])
    (exponent, _), covariance = np.polyfit(steps, times, 1, cov=True)
    error = 2 * float(np.sqrt(covariance[0, 0]))
    explained = float(np.corrcoef(steps, times)[0, 1] ** 2)
    text = f"time grows like the number of steps to the power {exponent:.2f} ± {error:.2f}"
    return [
        Criterion("exponent", bool(abs(exponent - 1) <= 0.2), f"{text}, {len(steps)} sizes"),
        Criterion(
            "no other factor", explained >= 0.95, f"the steps explain {explained:.0%} of the variance of log time"
        ),
    ]


CLAIMS = (
    Claim(
        "time-affordable",
        "tab-time",
        "Every algorithm needs less than 20 ms per recommendation.",
        "The median of three measured times is below 20 ms. (The paper's own table has 151 ms for m = 10.)",
        _affordable,
        uses_times=True,
    ),
    Claim(
        "time-sweeps",
        "tab-time",
        "Ten sweeps take about ten times as long as one.",
        "The ratio of the times is between 5 and 15. The limits of the interval are the smallest and the largest ratio "
        "of three measurements each.",
        _sweeps,
        "Some work is done once per round, not once per sweep: the display, the visitor, the counts.",
        uses_times=True,
    ),
    Claim(
        "time-steps",
        "tab-time",
        "The cost is driven by the number of random-walk steps, m(N + L - 1).",
        "Over 27 sizes, the exponent of the time in the number of steps is within 0.2 of 1, and the steps explain at "
        "least 95 % of the variance of log time.",
        _steps,
        "The cost of a step is not constant: a step of an item sums over all positions, a step of a position over all "
        "items. And here most steps are rejected before that sum is computed.",
        uses_times=True,
    ),
)
