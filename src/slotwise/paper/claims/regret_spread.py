"""Claims about lucky and unlucky runs."""

from collections.abc import Callable

import numpy as np

from slotwise.checks import Floats
from slotwise.paper.claims.claim import Claim, Criterion, decided_by_runs
from slotwise.paper.claims.shared_tests import loses_more
from slotwise.paper.experiments import BC_GREEDY, GREEDY, PB_MHB, PBM_GREEDY
from slotwise.paper.power import RunTest, World
from slotwise.paper.results import Results
from slotwise.paper.statistics import final_regret, paired_difference, unlucky_runs
from slotwise.simulation.result import Result

MIN_SHARE = 0.05  # smallest share of runs that counts as a group
MAX_SPREAD = 10.0  # a run above this many times the median is high
VERSIONS = (BC_GREEDY, PBM_GREEDY, GREEDY)


def _result(results: Results, label: str) -> Result:
    return results.result("fig-spread", "standard", label)


def _unlucky_share(share: float) -> World:
    """A world where this share of the runs is unlucky. The data has one row: 1 for an unlucky run, 0 for the others."""
    return World(
        f"{100 * share:g} % of the runs are unlucky",
        lambda rows: (np.arange(rows.shape[1])[None] < share * rows.shape[1]).astype(float),
    )


def _one_in_a_hundred_high(rows: Floats) -> Floats:
    changed = rows.copy()
    changed[0, ::100] = 2 * MAX_SPREAD * np.median(rows[0])
    return changed


def _has_no_high_run(rows: Floats) -> bool:
    return bool(rows[0].max() <= MAX_SPREAD * np.median(rows[0]))


def _lucky(rows: Floats) -> Floats:
    """The regret of the lucky runs of a greedy version. `rows` is the data of the test IN_BETWEEN."""
    return np.asarray(rows[1, rows[2] == 0])


def _above_lucky(rows: Floats) -> bool:
    lucky = _lucky(rows)
    return bool(lucky.size) and bool(np.quantile(rows[0], MIN_SHARE) > np.median(lucky))


def _lucky_at(times: float) -> Callable[[Floats], Floats]:
    """Scale the greedy runs. The median regret of the lucky ones becomes `times` x the 5 % quantile of PB-MHB."""

    def change(rows: Floats) -> Floats:
        lucky = _lucky(rows)
        factor = times * np.quantile(rows[0], MIN_SHARE) / np.median(lucky) if lucky.size else 1.0
        return np.stack([rows[0], rows[1] * factor, rows[2]])

    return change


TWO_KINDS = RunTest(
    lambda rows: bool(MIN_SHARE <= rows.mean() <= 1 - MIN_SHARE), _unlucky_share(0.2), _unlucky_share(0.01)
)
NONE_UNLUCKY = RunTest(lambda rows: not rows.any(), _unlucky_share(0.0), _unlucky_share(0.01))
NONE_HIGH = RunTest(
    _has_no_high_run,
    World("no run is high", lambda rows: np.minimum(rows, MAX_SPREAD / 2 * np.median(rows[0]))),
    World("1 % of the runs lose 20 times the median", _one_in_a_hundred_high),
)
# rows: the regret of PB-MHB, the regret of a greedy version, and 1 if the run of the greedy version is unlucky
IN_BETWEEN = RunTest(
    _above_lucky,
    World("lucky runs lose 0.8 times the 5 % quantile of PB-MHB", _lucky_at(0.8)),
    World("lucky runs lose 1.25 times the 5 % quantile of PB-MHB", _lucky_at(1.25)),
)


def _unlucky_row(result: Result) -> Floats:
    return unlucky_runs(result)[None].astype(float)


def _unlucky_text(result: Result) -> str:
    unlucky = float(unlucky_runs(result).mean())
    error = (unlucky * (1 - unlucky) / result.runs) ** 0.5
    return f"{100 * unlucky:.1f} ± {100 * error:.1f} % of {result.runs:,} runs are unlucky"


def _two_kinds(results: Results) -> list[Criterion]:
    versions = [_result(results, version.label) for version in VERSIONS]
    return [
        decided_by_runs(version.label, TWO_KINDS, _unlucky_row(result), _unlucky_text(result))
        for version, result in zip(VERSIONS, versions, strict=True)
    ]


def _never_high(results: Results) -> list[Criterion]:
    ours = _result(results, PB_MHB.label)
    finals = final_regret(ours)
    median, worst = float(np.median(finals)), float(finals.max())
    text = f"the worst of {ours.runs:,} runs loses {worst:,.0f} clicks, {worst / median:.1f} times the median"
    limit = f"{_unlucky_text(ours)}; the 95 % upper limit is {3 / ours.runs:.1%} when none is"
    return [
        decided_by_runs("no run is unlucky", NONE_UNLUCKY, _unlucky_row(ours), limit),
        decided_by_runs("no run has a high regret", NONE_HIGH, finals, text),
    ]


def _in_between(results: Results) -> list[Criterion]:
    ours = _result(results, PB_MHB.label)
    criteria = []
    for version in VERSIONS:
        other = _result(results, version.label)
        rows = np.concatenate([final_regret(ours, other), _unlucky_row(other)])
        lucky = _lucky(rows)
        median = f"the median of {lucky.size:,} lucky runs is {np.median(lucky):,.0f}" if lucky.size else ""
        least = float(np.quantile(rows[0], MIN_SHARE))
        text = f"95 % of PB-MHB's runs lose more than {least:,.0f}; {median or 'no run is lucky'}"
        criteria.append(decided_by_runs(version.label, IN_BETWEEN, rows, text))
    return criteria


def _on_average(results: Results) -> list[Criterion]:
    ours = _result(results, PB_MHB.label)
    criteria = []
    for version in VERSIONS:
        other = _result(results, version.label)
        text = f"regret minus PB-MHB's {paired_difference(other, ours)}"
        criteria.append(decided_by_runs(version.label, loses_more(), final_regret(other, ours), text))
    return criteria


UNLUCKY = "A run is unlucky when its regret grows faster than the square root of t over the last decade."

CLAIMS = (
    Claim(
        "spread-two-kinds",
        "fig-spread",
        "Greedy versions have lucky runs with a small regret and unlucky ones with a high regret.",
        f"{UNLUCKY} Between 5 % and 95 % of the runs of each greedy version are unlucky.",
        _two_kinds,
        "The paper says neither which click rate its SVD assumes for cells never shown (experiment fig-fill tries "
        "three), nor when a run is unlucky.",
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
