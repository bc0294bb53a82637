"""Claims about the warm start of PB-MHB."""

from collections.abc import Sequence

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.paper.claims.claim import Claim, Criterion, decided_by_runs
from slotwise.paper.claims.shared_tests import loses_more
from slotwise.paper.experiments import RANDOM_SWEEPS, WARM, random_start
from slotwise.paper.power import RunTest, World
from slotwise.paper.results import Results
from slotwise.paper.statistics import divergence_round, final_regret, paired_difference
from slotwise.simulation.result import Result

ABOUT_200 = (100, 400)  # rounds


def _warm(results: Results) -> Result:
    return results.result("fig-warm", "standard", WARM.label)


def _random(results: Results, sweeps: int) -> Result:
    return results.result("fig-warm", "standard", random_start(sweeps).label)


def _gaps(results: Results, sweeps: int) -> Floats:
    """The regret of a random start minus that of the warm start, as checkpoints x runs."""
    return (_random(results, sweeps).regret - _warm(results).regret).T


def _diverging_from(rounds: Ints, starts: Sequence[float], description: str) -> World:
    """A world with the gaps of one or more curves, stacked. Each curve has its own start.

    The start of a curve is a round: the mean gap is 0 before it, and then grows as steeply as measured. Runs differ
    from each other as much as the measured runs.
    """

    def change(rows: Floats) -> Floats:
        curves = rows.reshape(len(starts), rounds.size, -1)
        slopes = curves[:, -1].mean(axis=1) / rounds[-1]
        means = slopes[:, None] * np.maximum(rounds - np.array(starts)[:, None], 0.0)
        moved = curves - curves.mean(axis=2, keepdims=True) + means[..., None]
        return np.asarray(moved.reshape(rows.shape))

    return World(description, change)


def _diverges_about_200(rounds: Ints) -> RunTest:
    def holds(rows: Floats) -> bool:
        divergence = divergence_round(rounds, rows)
        return divergence is not None and ABOUT_200[0] <= divergence <= ABOUT_200[1]

    true, false = (_diverging_from(rounds, [start], f"curves diverge from round {start}") for start in (150, 15))
    return RunTest(holds, true, false)


def _diverge_one_after_another(rounds: Ints) -> RunTest:
    def holds(rows: Floats) -> bool:
        divergences = [divergence_round(rounds, curve) for curve in rows.reshape(len(RANDOM_SWEEPS), rounds.size, -1)]
        ordered = [float("inf") if divergence is None else divergence for divergence in divergences]
        return min(ordered) < float("inf") and ordered == sorted(ordered) and len(set(ordered)) > 1

    late, same = [20.0, 200.0, 2000.0, 20000.0], [200.0] * 4
    return RunTest(
        holds,
        _diverging_from(rounds, late, "curves diverge from rounds 20, 200, 2,000, 20,000"),
        _diverging_from(rounds, same, "all curves diverge from round 200"),
    )


def _sweeps(results: Results) -> list[Criterion]:
    criteria = []
    for m in (1, 10):
        random, warm = _random(results, m), _warm(results)
        text = f"regret minus that of the warm start with m = 1: {paired_difference(random, warm)}"
        criteria.append(decided_by_runs(f"m = {m}", loses_more(), final_regret(random, warm), text))
    return criteria


def _describe(results: Results, sweeps: int) -> str:
    divergence = divergence_round(_warm(results).rounds, _gaps(results, sweeps))
    return "never permanently above" if divergence is None else f"above from round {divergence:,} on"


def _divergence(results: Results) -> list[Criterion]:
    test = _diverges_about_200(_warm(results).rounds)
    return [decided_by_runs(f"m = {m}", test, _gaps(results, m), _describe(results, m)) for m in (1, 10)]


def _growing(results: Results) -> list[Criterion]:
    rows = np.concatenate([_gaps(results, m) for m in RANDOM_SWEEPS])
    text = "; ".join(f"m = {m}: {_describe(results, m)}" for m in RANDOM_SWEEPS)
    return [decided_by_runs("all m", _diverge_one_after_another(_warm(results).rounds), rows, text)]


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
