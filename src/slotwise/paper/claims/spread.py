"""Claims about lucky and unlucky runs."""

import numpy as np

from slotwise.checks import Floats
from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import BC_GREEDY, GREEDY, PB_MHB, PBM_GREEDY
from slotwise.paper.results import Evidence
from slotwise.paper.statistics import gap, still_losing
from slotwise.simulation.result import Result

SOME = 0.05  # a share of runs that counts as a kind of its own
NEVER_HIGH = 10.0  # times the median
VERSIONS = (BC_GREEDY, PBM_GREEDY, GREEDY)


def _result(evidence: Evidence, label: str) -> Result:
    return evidence.result("fig-spread", "standard", label)


def _lucky(result: Result) -> Floats:
    """The regret of the runs that are not linear by the end."""
    return np.asarray(result.regret[:, -1][~still_losing(result)])


def _share(result: Result) -> str:
    unlucky = float(still_losing(result).mean())
    error = (unlucky * (1 - unlucky) / result.runs) ** 0.5
    return f"{100 * unlucky:.1f} ± {100 * error:.1f} % of {result.runs:,} runs are unlucky"


def _two_kinds(evidence: Evidence) -> list[Part]:
    parts = []
    for version in VERSIONS:
        result = _result(evidence, version.label)
        unlucky = float(still_losing(result).mean())
        parts.append(Part(version.label, SOME <= unlucky <= 1 - SOME, _share(result)))
    return parts


def _never_high(evidence: Evidence) -> list[Part]:
    ours = _result(evidence, PB_MHB.label)
    finals = ours.regret[:, -1]
    middle, worst = float(np.median(finals)), float(finals.max())
    text = f"the worst of {ours.runs:,} runs loses {worst:,.0f} clicks, {worst / middle:.1f} times the median"
    return [
        Part(
            "no run is unlucky", not still_losing(ours).any(), f"{_share(ours)}; at most {3 / ours.runs:.1%} if none is"
        ),
        Part("no run is high", worst <= NEVER_HIGH * middle, text),
    ]


def _in_between(evidence: Evidence) -> list[Part]:
    ours = float(np.quantile(_result(evidence, PB_MHB.label).regret[:, -1], SOME))
    parts = []
    for version in VERSIONS:
        lucky = _lucky(_result(evidence, version.label))
        middle = float(np.median(lucky)) if lucky.size else float("inf")
        theirs = f"the middle one of {lucky.size:,} lucky runs loses {middle:,.0f}" if lucky.size else "no run is lucky"
        text = f"95 % of PB-MHB's runs lose more than {ours:,.0f}; {theirs}"
        parts.append(Part(version.label, ours > middle, text))
    return parts


def _on_average(evidence: Evidence) -> list[Part]:
    ours = _result(evidence, PB_MHB.label)
    parts = []
    for version in VERSIONS:
        excess = gap(_result(evidence, version.label), ours)
        parts.append(Part(version.label, excess.low > 0, f"regret minus PB-MHB's {excess}"))
    return parts


UNLUCKY = "A run is unlucky when its regret grows faster than the square root of t over the last decade."

CLAIMS = (
    Claim(
        "spread-two-kinds",
        "fig-spread",
        "Greedy versions have lucky runs with a small regret and unlucky ones with a high regret.",
        f"{UNLUCKY} Between 5 % and 95 % of the runs of each greedy version are.",
        _two_kinds,
        "The paper does not say what its SVD takes for an item never shown at a position, nor when a run is unlucky.",
    ),
    Claim(
        "spread-never-high",
        "fig-spread",
        "PB-MHB never has a high regret.",
        f"{UNLUCKY} No run of PB-MHB is, and none loses more than 10 times its median.",
        _never_high,
    ),
    Claim(
        "spread-in-between",
        "fig-spread",
        "PB-MHB always loses more than the lucky runs of greedy versions.",
        "95 % of the runs of PB-MHB lose more than the middle lucky run of each greedy version.",
        _in_between,
        "Runs that settle on the right display after much exploring count as lucky here too.",
    ),
    Claim(
        "spread-average",
        "fig-spread",
        "On average PB-MHB loses less than the greedy versions.",
        "Each greedy version loses more clicks, by more than 2 standard errors of the paired difference.",
        _on_average,
    ),
)
