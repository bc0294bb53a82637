"""Claims about computation time."""

import numpy as np

from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import SINGLE, TEN
from slotwise.paper.results import Evidence

AFFORDABLE = 20.0  # milliseconds


def _affordable(evidence: Evidence) -> list[Part]:
    return [
        Part(label, time.milliseconds < AFFORDABLE, f"{time.milliseconds:.2g} ms per recommendation")
        for (experiment, label), time in evidence.times.items()
        if experiment == "tab-time"
    ]


def _sweeps(evidence: Evidence) -> list[Part]:
    one, ten = (evidence.times["tab-time", who.label] for who in (SINGLE, TEN))
    times = ten.milliseconds / one.milliseconds
    low, high = ten.spread[0] / one.spread[1], ten.spread[1] / one.spread[0]
    return [Part("m = 10 over m = 1", 5.0 <= times <= 15.0, f"{times:.1f} times [{low:.1f}, {high:.1f}]")]


def _steps(evidence: Evidence) -> list[Part]:
    steps = np.log([point.steps for point in evidence.growth])
    times = np.log([point.milliseconds for point in evidence.growth])
    (exponent, _), covariance = np.polyfit(steps, times, 1, cov=True)
    error = 2 * float(np.sqrt(covariance[0, 0]))
    explained = float(np.corrcoef(steps, times)[0, 1] ** 2)
    text = f"time grows like the steps to the {exponent:.2f} ± {error:.2f}"
    return [
        Part("exponent", bool(abs(exponent - 1) <= 0.2), f"{text}, {len(steps)} sizes"),
        Part(
            "nothing else matters", explained >= 0.95, f"the steps explain {explained:.0%} of the variance of log time"
        ),
    ]


CLAIMS = (
    Claim(
        "time-affordable",
        "tab-time",
        "Every algorithm needs less than 20 ms per recommendation.",
        "The middle one of three measured times is below 20 ms. (The paper's own table has 151 ms for m = 10.)",
        _affordable,
        timed=True,
    ),
    Claim(
        "time-sweeps",
        "tab-time",
        "Ten sweeps take about ten times as long as one.",
        "The ratio of the times is between 5 and 15; the interval goes from fastest over slowest to slowest over "
        "fastest of three measurements.",
        _sweeps,
        "A part of each round is not repeated with the sweeps: the display, the visitor, the counts.",
        timed=True,
    ),
    Claim(
        "time-steps",
        "tab-time",
        "The cost is driven by the number of random-walk steps, m(N + L - 1).",
        "Over 27 sizes, the exponent of the time in the number of steps is within 0.2 of 1, and the steps explain at "
        "least 95 % of the variance of log time.",
        _steps,
        "A step is not of constant cost: one for an item sums over all positions, one for a position over all items. "
        "And most steps are refused here before their cost arises.",
        timed=True,
    ),
)
