"""Claims about the warm start of PB-MHB."""

from slotwise.paper.claims.claim import Claim, Criterion
from slotwise.paper.experiments import RANDOM_SWEEPS, WARM, random_start
from slotwise.paper.results import Results
from slotwise.paper.statistics import divergence_round, paired_difference
from slotwise.simulation.result import Result


def _warm(results: Results) -> Result:
    return results.result("fig-warm", "standard", WARM.label)


def _random(results: Results, sweeps: int) -> Result:
    return results.result("fig-warm", "standard", random_start(sweeps).label)


def _sweeps(results: Results) -> list[Criterion]:
    criteria = []
    for m in (1, 10):
        excess = paired_difference(_random(results, m), _warm(results))
        criteria.append(
            Criterion(f"m = {m}", excess.low > 0, f"regret minus that of the warm start with m = 1: {excess}")
        )
    return criteria


def _divergence_rounds(results: Results) -> dict[int, int | None]:
    return {m: divergence_round(_random(results, m), _warm(results)) for m in RANDOM_SWEEPS}


def _describe(divergence: int | None) -> str:
    return "never permanently above" if divergence is None else f"above from round {divergence:,} on"


def _divergence(results: Results) -> list[Criterion]:
    rounds = _divergence_rounds(results)
    return [
        Criterion(f"m = {m}", divergence is not None and 100 <= divergence <= 400, _describe(divergence))
        for m, divergence in rounds.items()
        if m in (1, 10)
    ]


def _growing(results: Results) -> list[Criterion]:
    rounds = _divergence_rounds(results)
    ordered = [float("inf") if divergence is None else divergence for divergence in rounds.values()]
    text = "; ".join(f"m = {m}: {_describe(divergence)}" for m, divergence in rounds.items())
    finite = [divergence for divergence in ordered if divergence != float("inf")]
    return [Criterion("all m", bool(finite) and ordered == sorted(ordered) and len(set(ordered)) > 1, text)]


CLAIMS = (
    Claim(
        "warm-sweeps",
        "fig-warm",
        "From a random start, more than 10 sweeps are needed to do as well as one sweep from a warm start.",
        "With m = 1 and with m = 10, the mean regret from a random start exceeds that of the warm start with m = 1 by "
        "more than 2 standard errors of the paired difference.",
        _sweeps,
    ),
    Claim(
        "warm-divergence",
        "fig-warm",
        "The curve of a random start diverges from that of the warm start at about round 200.",
        "For m = 1 and m = 10: the round from which the paired difference stays above 2 standard errors is between 100 "
        "and 400. The paper's text does not say which m the curve has.",
        _divergence,
        "The paper's text does not say which curve diverges at round 200; with fewer sweeps curves diverge earlier.",
    ),
    Claim(
        "warm-growing",
        "fig-warm",
        "The number of sweeps that a random start needs grows with time.",
        "The larger m is, the later is the round from which a random start stays worse than the warm start, for m = 1, "
        "10, 30 and 100.",
        _growing,
    ),
)
