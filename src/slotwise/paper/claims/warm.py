"""Claims about the warm start."""

from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import RANDOM_SWEEPS, WARM, random_start
from slotwise.paper.results import Evidence
from slotwise.paper.statistics import diverges, gap
from slotwise.simulation.result import Result


def _warm(evidence: Evidence) -> Result:
    return evidence.result("fig-warm", "standard", WARM.label)


def _random(evidence: Evidence, sweeps: int) -> Result:
    return evidence.result("fig-warm", "standard", random_start(sweeps).label)


def _sweeps(evidence: Evidence) -> list[Part]:
    parts = []
    for m in (1, 10):
        excess = gap(_random(evidence, m), _warm(evidence))
        parts.append(Part(f"m = {m}", excess.low > 0, f"regret minus that of warm with m = 1: {excess}"))
    return parts


def _rounds(evidence: Evidence) -> dict[int, int | None]:
    return {m: diverges(_random(evidence, m), _warm(evidence)) for m in RANDOM_SWEEPS}


def _said(found: int | None) -> str:
    return "never above for good" if found is None else f"above from round {found:,} on"


def _divergence(evidence: Evidence) -> list[Part]:
    rounds = _rounds(evidence)
    return [
        Part(f"m = {m}", found is not None and 100 <= found <= 400, _said(found))
        for m, found in rounds.items()
        if m in (1, 10)
    ]


def _growing(evidence: Evidence) -> list[Part]:
    rounds = _rounds(evidence)
    order = [float("inf") if found is None else found for found in rounds.values()]
    text = "; ".join(f"m = {m}: {_said(found)}" for m, found in rounds.items())
    finite = [found for found in order if found != float("inf")]
    return [Part("all m", bool(finite) and order == sorted(order) and len(set(order)) > 1, text)]


CLAIMS = (
    Claim(
        "warm-sweeps",
        "fig-warm",
        "From a random start, more than 10 sweeps are needed to do as well as one sweep from a warm start.",
        "With m = 1 and with m = 10, the mean regret from a random start is above that of the warm start with m = 1, "
        "by more than 2 standard errors of the paired difference.",
        _sweeps,
    ),
    Claim(
        "warm-divergence",
        "fig-warm",
        "The curve of a random start leaves that of the warm start at about round 200.",
        "For m = 1 and m = 10: the round from which on the paired difference stays above 2 standard errors is between "
        "100 and 400. The text does not say which m the curve has.",
        _divergence,
        "The text does not say which curve leaves at round 200; with fewer sweeps the curves part earlier.",
    ),
    Claim(
        "warm-growing",
        "fig-warm",
        "The number of sweeps that a random start needs grows with time.",
        "The round from which on a random start is worse than the warm one comes later the larger m is, for m = 1, 10, "
        "30 and 100.",
        _growing,
    ),
)
