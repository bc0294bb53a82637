"""The paper's experiments, as data: who plays where, for how long and how often, and what the figure shows."""

from collections.abc import Iterable
from typing import Any

import msgspec

from slotwise.checks import BadInput, known
from slotwise.paper.settings import BEHAVIORAL, SIMULATED

BEST = "best"  # stands for the c that a tuning found best
POOLED = "behavioral"  # the eight queries taken together, as the paper does
ROUNDS = 100_000
EPSILON_GRID = tuple(10.0**k for k in range(7))
WIDTHS, SWEEPS = (0.1, 1.0, 10.0, 100.0, 1000.0), (1, 10)
RANDOM_SWEEPS = (1, 10, 30, 100)


class Contender(msgspec.Struct, frozen=True):
    """A policy with its settings, as a figure names it."""

    label: str
    policy: str
    params: dict[str, Any] = {}


class Plays(msgspec.Struct, frozen=True):
    """Every contender on every setting."""

    contenders: tuple[Contender, ...]
    settings: tuple[str, ...]
    rounds: int = ROUNDS
    runs: int = 20
    seed_shift: int = 0  # other visitors than those of the figure
    pooled: bool = False  # the settings are averaged, run by run, into one

    def quick(self) -> "Plays":
        """A tenth of the rounds and a few of the runs: enough to see that everything works."""
        few = max(3, min(self.runs // 4, 60))
        return msgspec.structs.replace(self, rounds=max(self.rounds // 10, 1), runs=few)


class Timed(msgspec.Struct, frozen=True):
    """A policy whose time per round is measured, beside what the paper's table says."""

    contender: Contender
    rounds: int = ROUNDS
    paper_minutes: float | None = None
    paper_milliseconds: float | None = None


class Experiment(msgspec.Struct, frozen=True):
    """One row of the reproduction: a figure, a table or a claim of the text."""

    name: str
    title: str
    caption: str
    plays: dict[str, Plays] = {}
    timed: tuple[Timed, ...] = ()
    growth: bool = False  # how the time of PB-MHB grows with N, L and m
    fits: bool = False  # theta and kappa by SVD and by EM from the same counts
    data: bool = False  # the parameters of the queries beside the paper's table


PB_MHB = Contender("PB-MHB", "pb_mhb")
BC_MPTS = Contender("BC-MPTS, semi-oracle", "bc_mpts")
BC_GREEDY = Contender("BC-MPTS, greedy", "bc_mpts", {"kappa": "svd"})
PBM_TS = Contender("PBM-TS, semi-oracle", "pbm_ts")
PBM_GREEDY = Contender("PBM-TS, greedy", "pbm_ts", {"kappa": "svd"})
GREEDY = Contender("greedy", "greedy")
EPSILON = Contender("ε-greedy, best c", "epsilon_greedy", {"c": BEST})
UNIFORM = Contender("uniform", "uniform")
ORACLE = Contender("oracle", "oracle")
BOUNDS = (UNIFORM, ORACLE)  # between which every regret lies
EVERYBODY = (PB_MHB, BC_MPTS, BC_GREEDY, PBM_TS, PBM_GREEDY, GREEDY, EPSILON, *BOUNDS)
TUNED = tuple(Contender(f"c = {c:g}", "epsilon_greedy", {"c": c}) for c in EPSILON_GRID)
GREEDY_EM = Contender("greedy, EM", "greedy", {"estimator": "em"})
EPSILON_EM = Contender("ε-greedy, EM", "epsilon_greedy", {"estimator": "em"})
EPSILON_SVD = Contender("ε-greedy, SVD", "epsilon_greedy")
GREEDY_SVD = Contender("greedy, SVD", "greedy")
PMED = Contender("PMED", "pmed")
PBM_UCB, PBM_PIE = Contender("PBM-UCB", "pbm_ucb"), Contender("PBM-PIE", "pbm_pie")
SINGLE, TEN = Contender("PB-MHB, m = 1", "pb_mhb"), Contender("PB-MHB, m = 10", "pb_mhb", {"sweeps": 10})


def by_mean(contender: Contender) -> Contender:
    """The same, but for cells never shown, which count as clicked as often as the average."""
    return Contender(f"{contender.label}, fill=mean", contender.policy, contender.params | {"fill": "mean"})


def hyper(width: float, sweeps: int) -> Contender:
    """PB-MHB with a width and a number of sweeps."""
    return Contender(f"c = {width:g}, m = {sweeps}", "pb_mhb", {"width": width, "sweeps": sweeps})


def random_start(sweeps: int) -> Contender:
    """PB-MHB that forgets its last sample."""
    return Contender(f"random start, m = {sweeps}", "pb_mhb", {"start": "random", "sweeps": sweeps})


WARM = Contender("warm start, m = 1", "pb_mhb")
GREEDY_VERSIONS = (BC_GREEDY, PBM_GREEDY, GREEDY)
THREE, QUERIES, STANDARD = tuple(SIMULATED), tuple(BEHAVIORAL), ("standard",)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig-hyper",
            "Width of the steps and number of sweeps",
            "Regret of PB-MHB for steps of width c/√t and m sweeps per round. The grid is ours: the paper gives none.",
            {"curves": Plays((*(hyper(c, m) for m in SWEEPS for c in WIDTHS), *BOUNDS), THREE)},
        ),
        Experiment(
            "fig-warm",
            "Warm start or random start",
            "Regret of PB-MHB that goes on from its last sample, and of PB-MHB that starts each round from a random "
            "one, with c = 100.",
            {"curves": Plays((WARM, *(random_start(m) for m in RANDOM_SWEEPS), *BOUNDS), STANDARD)},
        ),
        Experiment(
            "fig-simulated",
            "All competitors on simulated data",
            "Regret of every competitor. Semi-oracle versions are told kappa, greedy versions take its SVD estimate "
            "for the truth. ε-greedy plays with the best c of 1, 10, … 10⁶, chosen on other visitors.",
            {
                "curves": Plays(EVERYBODY, THREE),
                "tuning": Plays(TUNED, THREE, seed_shift=1),
                "pairs": Plays((PB_MHB, BC_MPTS), THREE, runs=200),  # BC-MPTS has a heavy tail near one
            },
        ),
        Experiment(
            "fig-fill",
            "What greedy versions think of what they never saw",
            "The SVD needs a click rate for an item never shown at a position. The paper does not say which: 1 makes "
            "greedy versions explore, the mean of all cells (fill=mean) does not.",
            {"curves": Plays((*GREEDY_VERSIONS, *map(by_mean, GREEDY_VERSIONS), PB_MHB, *BOUNDS), THREE)},
        ),
        Experiment(
            "fig-spread",
            "Lucky and unlucky runs",
            "Distribution over runs of the regret at the last round, standard setting.",
            {"curves": Plays((PB_MHB, BC_MPTS, *GREEDY_VERSIONS), STANDARD, runs=1000)},
        ),
        Experiment(
            "tab-time",
            "Computation time",
            "Time for a sequence of recommendations on the standard setting: ours, on one core, beside the paper's. "
            "The only part of this report that varies from one reproduction to the next.",
            timed=(
                Timed(Contender("ε-greedy, c = 1000", "epsilon_greedy"), ROUNDS, 0.5, 0.3),
                Timed(BC_MPTS, ROUNDS, 0.5, 0.3),
                Timed(BC_GREEDY, ROUNDS, 1.0, 0.6),
                Timed(PBM_TS, ROUNDS, 7.0, 4.2),
                Timed(PBM_GREEDY, ROUNDS, 8.0, 4.8),
                Timed(SINGLE, ROUNDS, 30.0, 18.0),
                Timed(TEN, ROUNDS, 251.0, 151.0),
            ),
            growth=True,
        ),
        Experiment(
            "tab-data",
            "The queries of the behavioral data",
            "Number of items and range of parameters of the eight queries of KDD Cup 2012 track 2, from the values "
            "that the authors published, beside the paper's table. They are not derived anew from the log.",
            data=True,
        ),
        Experiment(
            "fig-behavioral",
            "All competitors on behavioral data",
            "Regret averaged over the eight queries. The paper does not say how many rounds it played.",
            {
                "curves": Plays(EVERYBODY, QUERIES, runs=10, pooled=True),
                "tuning": Plays(TUNED, QUERIES, runs=10, seed_shift=1, pooled=True),
            },
        ),
        Experiment(
            "claim-em",
            "SVD or expectation-maximisation",
            "Regret of greedy and of ε-greedy (c = 1000) with theta and kappa estimated either way.",
            {"curves": Plays((GREEDY_SVD, GREEDY_EM, EPSILON_SVD, EPSILON_EM, *BOUNDS), THREE)},
            timed=(Timed(GREEDY_SVD), Timed(GREEDY_EM), Timed(EPSILON_SVD), Timed(EPSILON_EM)),
            fits=True,
        ),
        Experiment(
            "fig-extra",
            "The policies that the paper left out",
            "Regret of PBM-UCB, PBM-PIE and PMED, which the paper argues about and does not play. PMED plays fewer "
            "rounds and runs, being slow.",
            {
                "curves": Plays((PB_MHB, PBM_TS, PBM_UCB, PBM_PIE, *BOUNDS), STANDARD),
                "short": Plays((PMED,), STANDARD, rounds=ROUNDS // 10, runs=5),
            },
            timed=(Timed(PMED, ROUNDS // 10), Timed(SINGLE, ROUNDS // 10)),
        ),
    )
}


def chosen(names: Iterable[str] | None, quick: bool = False, runs: int | None = None) -> list[Experiment]:
    """The experiments asked for, in the order of the paper; None: all of them."""
    wanted = list(EXPERIMENTS) if names is None else [known("experiment", name, EXPERIMENTS) for name in names]
    if not wanted:
        raise BadInput(f"no experiment asked for; known: {', '.join(EXPERIMENTS)}")
    found = [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]
    if quick:
        found = [_quick(experiment) for experiment in found]
    return found if runs is None else [_with_runs(experiment, runs) for experiment in found]


def _quick(experiment: Experiment) -> Experiment:
    plays = {name: plays.quick() for name, plays in experiment.plays.items()}
    timed = tuple(msgspec.structs.replace(row, rounds=row.rounds // 10) for row in experiment.timed)
    return msgspec.structs.replace(experiment, plays=plays, timed=timed)


def _with_runs(experiment: Experiment, runs: int) -> Experiment:
    plays = {name: msgspec.structs.replace(plays, runs=runs) for name, plays in experiment.plays.items()}
    return msgspec.structs.replace(experiment, plays=plays)
