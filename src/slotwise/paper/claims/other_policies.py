"""Claims about policies that the paper discusses but does not run, and about its table of queries."""

from slotwise.paper.claims.claim import Claim, Criterion, decided_by_runs
from slotwise.paper.claims.shared_tests import loses_more
from slotwise.paper.experiments import PB_MHB_1, PBM_PIE, PBM_TS, PBM_UCB, PMED
from slotwise.paper.output.result_rows import published_gaps
from slotwise.paper.results import Results
from slotwise.paper.statistics import final_regret, paired_difference

PRINT_PRECISION = 0.001  # the paper prints three decimals


def _worse(results: Results) -> list[Criterion]:
    pbm_ts = results.result("fig-extra", "standard", PBM_TS.label)
    criteria = []
    for contender in (PBM_UCB, PBM_PIE):
        other = results.result("fig-extra", "standard", contender.label)
        text = f"regret minus PBM-TS's {paired_difference(other, pbm_ts)}"
        criteria.append(decided_by_runs(contender.label, loses_more(), final_regret(other, pbm_ts), text))
    return criteria


def _slow(results: Results) -> list[Criterion]:
    pmed, pb_mhb = (results.times["fig-extra", contender.label] for contender in (PMED, PB_MHB_1))
    times = pmed.milliseconds / pb_mhb.milliseconds
    text = f"{1e3 * pmed.milliseconds:.1f} µs per round, {times:.1f} times PB-MHB's, over {pmed.rounds:,} rounds"
    return [Criterion("time per round", times >= 5, text)]


def _table(results: Results) -> list[Criterion]:
    return [
        Criterion(name, gap <= PRINT_PRECISION, f"differs by at most {gap:.4f}")
        for name, gap in published_gaps().items()
    ]


CLAIMS = (
    Claim(
        "extra-worse",
        "fig-extra",
        "PBM-UCB and PBM-PIE lose more than PBM-TS.",
        "Each loses more clicks, by more than 2 standard errors of the paired difference.",
        _worse,
    ),
    Claim(
        "extra-slow",
        "fig-extra",
        "PMED is much slower than PB-MHB.",
        "A round of PMED takes at least 5 times as long as one of PB-MHB.",
        _slow,
        uses_times=True,
    ),
    Claim(
        "data-table",
        "tab-data",
        "The eight queries have the numbers of items and the ranges of theta and kappa of Table 1.",
        "The number of items is the same, and no printed value differs by more than 0.001.",
        _table,
    ),
)
