"""The paper's experiments as data: which policies run on which settings, for how long, and what the figure shows."""

from collections.abc import Iterable
from typing import Any

import msgspec

from slotwise.checks import BadInput, one_of
from slotwise.paper.named_click_models import BEHAVIORAL, SIMULATED

BEST = "best"  # stands for the c with the smallest regret in the tuning runs
POOLED = "behavioral"  # the mean over the eight queries, as in the paper
ROUNDS = 100_000
EPSILON_GRID = tuple(10.0**k for k in range(7))
WIDTHS, SWEEPS = (0.1, 1.0, 10.0, 100.0, 1000.0), (1, 10)
RANDOM_SWEEPS = (1, 10, 30, 100)


class Contender(msgspec.Struct, frozen=True):
    """A policy with its parameters, and its label in figures."""

    label: str
    policy: str
    params: dict[str, Any] = {}


class RunSet(msgspec.Struct, frozen=True):
    """Runs of every contender on every setting."""

    contenders: tuple[Contender, ...]
    settings: tuple[str, ...]
    rounds: int = ROUNDS
    runs: int = 20
    seed_shift: int = 0  # added to the seed, so that the visitors differ from those of the figure
    pooled: bool = False  # average the settings into one, run by run

    def quick(self) -> "RunSet":
        """A tenth of the rounds and a few of the runs: enough to see that everything works."""
        few = max(3, min(self.runs // 4, 60))
        return msgspec.structs.replace(self, rounds=max(self.rounds // 10, 1), runs=few)


class TimedPolicy(msgspec.Struct, frozen=True):
    """A policy whose time per round is measured, with the numbers of the paper's table."""

    contender: Contender
    rounds: int = ROUNDS
    paper_minutes: float | None = None
    paper_milliseconds: float | None = None


class Experiment(msgspec.Struct, frozen=True):
    """A figure, a table or a claim of the paper's text, and the measurements that it needs."""

    name: str
    title: str
    caption: str
    run_sets: dict[str, RunSet] = {}
    timed_policies: tuple[TimedPolicy, ...] = ()
    growth: bool = False  # measure how the time of PB-MHB grows with N, L and m
    fits: bool = False  # compare theta and kappa from SVD and from EM on the same counts
    data: bool = False  # compare the parameters of the queries with the paper's table


PB_MHB = Contender("PB-MHB", "pb_mhb")
BC_MPTS = Contender("BC-MPTS, semi-oracle", "bc_mpts")
BC_GREEDY = Contender("BC-MPTS, greedy", "bc_mpts", {"kappa": "svd"})
PBM_TS = Contender("PBM-TS, semi-oracle", "pbm_ts")
PBM_GREEDY = Contender("PBM-TS, greedy", "pbm_ts", {"kappa": "svd"})
GREEDY = Contender("greedy", "greedy")
EPSILON = Contender("ε-greedy, best c", "epsilon_greedy", {"c": BEST})
UNIFORM = Contender("uniform", "uniform")
ORACLE = Contender("oracle", "oracle")
REFERENCES = (UNIFORM, ORACLE)  # the largest and the smallest regret
ALL_CONTENDERS = (PB_MHB, BC_MPTS, BC_GREEDY, PBM_TS, PBM_GREEDY, GREEDY, EPSILON, *REFERENCES)
EPSILON_CONTENDERS = tuple(Contender(f"c = {c:g}", "epsilon_greedy", {"c": c}) for c in EPSILON_GRID)
GREEDY_EM = Contender("greedy, EM", "greedy", {"estimator": "em"})
EPSILON_EM = Contender("ε-greedy, EM", "epsilon_greedy", {"estimator": "em"})
EPSILON_SVD = Contender("ε-greedy, SVD", "epsilon_greedy")
GREEDY_SVD = Contender("greedy, SVD", "greedy")
PMED = Contender("PMED", "pmed")
PBM_UCB, PBM_PIE = Contender("PBM-UCB", "pbm_ucb"), Contender("PBM-PIE", "pbm_pie")
PB_MHB_1, PB_MHB_10 = Contender("PB-MHB, m = 1", "pb_mhb"), Contender("PB-MHB, m = 10", "pb_mhb", {"sweeps": 10})


def with_fill(contender: Contender, fill: str) -> Contender:
    """The same policy, but its SVD assumes another click rate for cells that were never shown."""
    return Contender(f"{contender.label}, fill={fill}", contender.policy, contender.params | {"fill": fill})


def hyper(width: float, sweeps: int) -> Contender:
    """PB-MHB with this width of steps and number of sweeps."""
    return Contender(f"c = {width:g}, m = {sweeps}", "pb_mhb", {"width": width, "sweeps": sweeps})


def random_start(sweeps: int) -> Contender:
    """PB-MHB that starts every round from a random sample instead of its last sample."""
    return Contender(f"random start, m = {sweeps}", "pb_mhb", {"start": "random", "sweeps": sweeps})


WARM = Contender("warm start, m = 1", "pb_mhb")
GREEDY_VERSIONS = (BC_GREEDY, PBM_GREEDY, GREEDY)
FILLS = ("mean", "authors")  # alternatives to the default, which is a click rate of 1
FILLED_VERSIONS = tuple(with_fill(contender, fill) for fill in FILLS for contender in GREEDY_VERSIONS)
PLUG_IN = (BC_GREEDY, PBM_GREEDY)
LINEAR_RUNS = 200  # 20 runs cannot distinguish a linear regret from one that bends
SIMULATED_SETTINGS, QUERIES, STANDARD = tuple(SIMULATED), tuple(BEHAVIORAL), ("standard",)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig-hyper",
            "Width of the steps and number of sweeps",
            "Regret of PB-MHB for steps of width c/√t and m sweeps per round. The grid is ours: the paper gives none.",
            {"curves": RunSet((*(hyper(c, m) for m in SWEEPS for c in WIDTHS), *REFERENCES), SIMULATED_SETTINGS)},
        ),
        Experiment(
            "fig-warm",
            "Warm start or random start",
            "Regret of PB-MHB that starts each round from its last sample (warm start), and of PB-MHB that starts each "
            "round from a random one, with c = 100.",
            {"curves": RunSet((WARM, *(random_start(m) for m in RANDOM_SWEEPS), *REFERENCES), STANDARD)},
        ),
        Experiment(
            "fig-simulated",
            "All competitors on simulated data",
            "Regret of every competitor. Semi-oracle versions are given kappa (oracle); greedy versions plug in its "
            "SVD estimate. ε-greedy runs with the best c of 1, 10, … 10⁶, chosen on other visitors.",
            {
                "curves": RunSet(ALL_CONTENDERS, SIMULATED_SETTINGS),
                "tuning": RunSet(EPSILON_CONTENDERS, SIMULATED_SETTINGS, seed_shift=1),
                "pairs": RunSet(
                    (PB_MHB, BC_MPTS), SIMULATED_SETTINGS, runs=200
                ),  # many runs: BC-MPTS has a heavy tail near one
                "linear": RunSet(PLUG_IN, SIMULATED_SETTINGS, runs=LINEAR_RUNS),
            },
        ),
        Experiment(
            "fig-fill",
            "Click rate assumed for cells never shown",
            "The SVD needs a click rate for an item never shown at a position. The paper does not say which one it "
            "uses. A rate of 1 makes greedy versions explore; the mean of all cells (fill=mean) does not. The authors' "
            "public code has (S + p) / (V + p) for every cell (fill=authors), which is 1 for a cell never shown.",
            {
                "curves": RunSet((*GREEDY_VERSIONS, *FILLED_VERSIONS, PB_MHB, *REFERENCES), SIMULATED_SETTINGS),
                "linear": RunSet(
                    tuple(with_fill(contender, fill) for fill in FILLS for contender in PLUG_IN),
                    SIMULATED_SETTINGS,
                    runs=LINEAR_RUNS,
                ),
            },
        ),
        Experiment(
            "fig-spread",
            "Lucky and unlucky runs",
            "Distribution of the regret at the last round over runs, on the standard setting.",
            {"curves": RunSet((PB_MHB, BC_MPTS, *GREEDY_VERSIONS), STANDARD, runs=1000)},
        ),
        Experiment(
            "tab-time",
            "Computation time",
            "Time for a sequence of recommendations on the standard setting, measured on one core, next to the paper's "
            "numbers. This is the only section whose numbers differ between two reproductions.",
            timed_policies=(
                TimedPolicy(Contender("ε-greedy, c = 1000", "epsilon_greedy"), ROUNDS, 0.5, 0.3),
                TimedPolicy(BC_MPTS, ROUNDS, 0.5, 0.3),
                TimedPolicy(BC_GREEDY, ROUNDS, 1.0, 0.6),
                TimedPolicy(PBM_TS, ROUNDS, 7.0, 4.2),
                TimedPolicy(PBM_GREEDY, ROUNDS, 8.0, 4.8),
                TimedPolicy(PB_MHB_1, ROUNDS, 30.0, 18.0),
                TimedPolicy(PB_MHB_10, ROUNDS, 251.0, 151.0),
            ),
            growth=True,
        ),
        Experiment(
            "tab-data",
            "The queries of the behavioral data",
            "Number of items and range of parameters of the eight queries of KDD Cup 2012 track 2, from the values "
            "that the authors published, next to the paper's table. They are not recomputed from the log.",
            data=True,
        ),
        Experiment(
            "fig-behavioral",
            "All competitors on behavioral data",
            "Regret averaged over the eight queries. The paper does not give the number of rounds.",
            {
                "curves": RunSet(ALL_CONTENDERS, QUERIES, runs=10, pooled=True),
                "tuning": RunSet(EPSILON_CONTENDERS, QUERIES, runs=10, seed_shift=1, pooled=True),
                "linear": RunSet(PLUG_IN, QUERIES, runs=LINEAR_RUNS, pooled=True),
            },
        ),
        Experiment(
            "claim-em",
            "SVD or expectation-maximisation",
            "Regret of greedy and of ε-greedy (c = 1000), with theta and kappa estimated by SVD or by EM.",
            {"curves": RunSet((GREEDY_SVD, GREEDY_EM, EPSILON_SVD, EPSILON_EM, *REFERENCES), SIMULATED_SETTINGS)},
            timed_policies=(
                TimedPolicy(GREEDY_SVD),
                TimedPolicy(GREEDY_EM),
                TimedPolicy(EPSILON_SVD),
                TimedPolicy(EPSILON_EM),
            ),
            fits=True,
        ),
        Experiment(
            "fig-extra",
            "Policies that the paper does not run",
            "Regret of PBM-UCB, PBM-PIE and PMED, which the paper discusses but does not run. PMED is slow, so it has "
            "fewer rounds and runs.",
            {
                "curves": RunSet((PB_MHB, PBM_TS, PBM_UCB, PBM_PIE, *REFERENCES), STANDARD),
                "short": RunSet((PMED,), STANDARD, rounds=ROUNDS // 10, runs=5),
            },
            timed_policies=(TimedPolicy(PMED, ROUNDS // 10), TimedPolicy(PB_MHB_1, ROUNDS // 10)),
        ),
    )
}


def select_experiments(names: Iterable[str] | None, quick: bool = False, runs: int | None = None) -> list[Experiment]:
    """The named experiments in the order of the paper. If `names` is None, these are all experiments."""
    requested = list(EXPERIMENTS) if names is None else [one_of("experiment", name, EXPERIMENTS) for name in names]
    if not requested:
        raise BadInput(f"no experiment is named; known: {', '.join(EXPERIMENTS)}")
    selected = [experiment for name, experiment in EXPERIMENTS.items() if name in requested]
    if quick:
        selected = [_quick(experiment) for experiment in selected]
    return selected if runs is None else [_with_runs(experiment, runs) for experiment in selected]


def _quick(experiment: Experiment) -> Experiment:
    run_sets = {name: run_set.quick() for name, run_set in experiment.run_sets.items()}
    timed = tuple(msgspec.structs.replace(policy, rounds=policy.rounds // 10) for policy in experiment.timed_policies)
    return msgspec.structs.replace(experiment, run_sets=run_sets, timed_policies=timed)


def _with_runs(experiment: Experiment, runs: int) -> Experiment:
    run_sets = {name: msgspec.structs.replace(run_set, runs=runs) for name, run_set in experiment.run_sets.items()}
    return msgspec.structs.replace(experiment, run_sets=run_sets)
