"""Claims about lucky and unlucky runs."""

import numpy as np

from slotwise.checks import Floats
from slotwise.paper.claims.claim import Claim, Criterion
from slotwise.paper.experiments import BC_GREEDY, GREEDY, PB_MHB, PBM_GREEDY
from slotwise.paper.results import Results
from slotwise.paper.statistics import paired_difference, unlucky_runs
from slotwise.simulation.result import Result

MIN_SHARE = 0.05  # smallest share of runs that counts as a group
MAX_SPREAD = 10.0  # a run above this many times the median is high
VERSIONS = (BC_GREEDY, PBM_GREEDY, GREEDY)


def _result(results: Results, label: str) -> Result:
    return results.result("fig-spread", "standard", label)


def _lucky_regret(result: Result) -> Floats:
    """The final regret of the lucky runs."""
    return np.asarray(result.regret[:, -1][~unlucky_runs(result)])


def _unlucky_text(result: Result) -> str:
    unlucky = float(unlucky_runs(result).mean())
    error = (unlucky * (1 - unlucky) / result.runs) ** 0.5
    return f"{100 * unlucky:.1f} ± {100 * error:.1f} % of {result.runs:,} runs are unlucky"


def _two_kinds(results: Results) -> list[Criterion]:
    criteria = []
    for version in VERSIONS:
        result = _result(results, version.label)
        unlucky = float(unlucky_runs(result).mean())
        criteria.append(Criterion(version.label, MIN_SHARE <= unlucky <= 1 - MIN_SHARE, _unlucky_text(result)))
    return criteria


def _never_high(results: Results) -> list[Criterion]:
    ours = _result(results, PB_MHB.label)
    finals = ours.regret[:, -1]
    median, worst = float(np.median(finals)), float(finals.max())
    text = f"the worst of {ours.runs:,} runs loses {worst:,.0f} clicks, {worst / median:.1f} times the median"
    return [
        Criterion(
            "no run is unlucky",
            not unlucky_runs(ours).any(),
            f"{_unlucky_text(ours)}; the 95 % upper limit is {3 / ours.runs:.1%} when none is",
        ),
        Criterion("no run has a high regret", worst <= MAX_SPREAD * median, text),
    ]


def _in_between(results: Results) -> list[Criterion]:
    ours = float(np.quantile(_result(results, PB_MHB.label).regret[:, -1], MIN_SHARE))
    criteria = []
    for version in VERSIONS:
        lucky = _lucky_regret(_result(results, version.label))
        median = float(np.median(lucky)) if lucky.size else float("inf")
        theirs = f"the median of {lucky.size:,} lucky runs is {median:,.0f}" if lucky.size else "no run is lucky"
        text = f"95 % of PB-MHB's runs lose more than {ours:,.0f}; {theirs}"
        criteria.append(Criterion(version.label, ours > median, text))
    return criteria


def _on_average(results: Results) -> list[Criterion]:
    ours = _result(results, PB_MHB.label)
    criteria = []
    for version in VERSIONS:
        excess = paired_difference(_result(results, version.label), ours)
        criteria.append(Criterion(version.label, excess.low > 0, f"regret minus PB-MHB's {excess}"))
    return criteria


UNLUCKY = "A run is unlucky when its regret grows faster than the square root of t over the last decade."

CLAIMS = (
    Claim(
        "spread-two-kinds",
        "fig-spread",
        "Greedy versions have lucky runs with a small regret and unlucky ones with a high regret.",
        f"{UNLUCKY} Between 5 % and 95 % of the runs of each greedy version are unlucky.",
        _two_kinds,
        "The paper says neither which click rate its SVD assumes for cells never shown, nor when a run is unlucky.",
    ),
    Claim(
        "spread-never-high",
        "fig-spread",
        "PB-MHB never has a high regret.",
        f"{UNLUCKY} No run of PB-MHB is unlucky, and none loses more than 10 times the median.",
        _never_high,
    ),
    Claim(
        "spread-in-between",
        "fig-spread",
        "PB-MHB always loses more than the lucky runs of greedy versions.",
        "95 % of the runs of PB-MHB lose more than the median lucky run of each greedy version.",
        _in_between,
        "Runs that find the best display after much exploration also count as lucky here.",
    ),
    Claim(
        "spread-average",
        "fig-spread",
        "On average PB-MHB loses less than the greedy versions.",
        "Each greedy version loses more clicks, by more than 2 standard errors of the paired difference.",
        _on_average,
    ),
)
