"""Claims about what the paper argues without playing it, and about its table of queries."""

from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import PBM_PIE, PBM_TS, PBM_UCB, PMED, SINGLE
from slotwise.paper.output.tables import published_gaps
from slotwise.paper.results import Evidence
from slotwise.paper.statistics import gap

PRINTED = 0.001  # the paper prints three digits


def _worse(evidence: Evidence) -> list[Part]:
    told = evidence.result("fig-extra", "standard", PBM_TS.label)
    parts = []
    for other in (PBM_UCB, PBM_PIE):
        excess = gap(evidence.result("fig-extra", "standard", other.label), told)
        parts.append(Part(other.label, excess.low > 0, f"regret minus PBM-TS's {excess}"))
    return parts


def _slow(evidence: Evidence) -> list[Part]:
    slow, fast = (evidence.times["fig-extra", who.label] for who in (PMED, SINGLE))
    times = slow.milliseconds / fast.milliseconds
    text = f"{1e3 * slow.milliseconds:.1f} µs per round, {times:.1f} times PB-MHB's, over {slow.rounds:,} rounds"
    return [Part("time per round", times >= 5, text)]


def _table(evidence: Evidence) -> list[Part]:
    return [Part(name, apart <= PRINTED, f"at most {apart:.4f} apart") for name, apart in published_gaps().items()]


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
        "Its round takes at least 5 times as long.",
        _slow,
        timed=True,
    ),
    Claim(
        "data-table",
        "tab-data",
        "The eight queries have the numbers of items and the ranges of theta and kappa of Table 1.",
        "Same number of items; no printed value is more than 0.001 away.",
        _table,
    ),
)
