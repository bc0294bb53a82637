"""Claims about expectation-maximisation in place of the SVD."""

from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import EPSILON_EM, EPSILON_SVD, GREEDY_EM, GREEDY_SVD, THREE
from slotwise.paper.results import Evidence
from slotwise.paper.statistics import ratio

SIMILAR = 2.0
CLOSE = 0.05
PAIRS = (("greedy", GREEDY_EM, GREEDY_SVD), ("ε-greedy", EPSILON_EM, EPSILON_SVD))


def _regret(evidence: Evidence) -> list[Part]:
    parts = []
    for setting in THREE:
        for name, em, svd in PAIRS:
            slow, fast = (evidence.result("claim-em", setting, who.label) for who in (em, svd))
            times = ratio(slow, fast)
            similar = 1 / SIMILAR <= times.value <= SIMILAR
            parts.append(Part(f"{setting}, {name}", similar, f"{times} times the regret with SVD"))
    return parts


def _estimates(evidence: Evidence) -> list[Part]:
    return [
        Part(
            gap.setting,
            max(gap.theta_apart, gap.kappa_apart) <= CLOSE,
            f"theta at most {gap.theta_apart:.2g} apart, kappa {gap.kappa_apart:.2g}; "
            f"largest error {gap.svd_error:.2g} with SVD, {gap.em_error:.2g} with EM",
        )
        for gap in evidence.fits
    ]


def _slower(evidence: Evidence) -> list[Part]:
    parts = []
    for name, em, svd in PAIRS:
        slow, fast = (evidence.times["claim-em", who.label] for who in (em, svd))
        times = slow.milliseconds / fast.milliseconds
        text = f"a round with EM takes {times:.2g} times as long ({1e3 * slow.milliseconds:.2g} µs)"
        parts.append(Part(name, times >= 10, text))
    return parts


CLAIMS = (
    Claim(
        "em-regret",
        "claim-em",
        "Greedy and ε-greedy have a similar regret with EM as with the SVD.",
        "On each setting: the ratio of the mean regrets is between 1/2 and 2.",
        _regret,
        "The two differ in what they take for what was never shown: the SVD a click rate of 1, EM a prior.",
    ),
    Claim(
        "em-estimates",
        "claim-em",
        "EM and the SVD lead to similar values of theta and kappa.",
        "From 100,000 uniformly random displays on each of the eleven settings: no theta or kappa is more than 0.05 "
        "apart.",
        _estimates,
    ),
    Claim(
        "em-slower",
        "claim-em",
        "With EM everything is about 700 times slower than with the SVD.",
        "A round takes at least 10 times as long with EM.",
        _slower,
        "The paper's EM went through every display anew; here it works on counts, from the last round's answer, so "
        "that it costs about as much as the SVD.",
        timed=True,
    ),
)
