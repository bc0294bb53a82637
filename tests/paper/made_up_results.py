"""Made-up results: some that agree with the paper, so that claims hold, and some that contradict it."""

from dataclasses import replace

import numpy as np

from slotwise.clickmodels.pbm import PBM
from slotwise.paper.claims import judge_claims
from slotwise.paper.experiments import (
    ALL_CONTENDERS,
    BC_GREEDY,
    BC_MPTS,
    BEST,
    EPSILON_EM,
    EPSILON_SVD,
    FILLS,
    GREEDY,
    GREEDY_EM,
    GREEDY_SVD,
    PB_MHB,
    PB_MHB_1,
    PB_MHB_10,
    PBM_GREEDY,
    PBM_PIE,
    PBM_TS,
    PBM_UCB,
    PLUG_IN,
    PMED,
    POOLED,
    RANDOM_SWEEPS,
    SIMULATED_SETTINGS,
    SWEEPS,
    WARM,
    WIDTHS,
    hyper,
    random_start,
    select_experiments,
    with_fill,
)
from slotwise.paper.plan import choose_c
from slotwise.paper.reproduce import ExperimentCost, Reproduction, Scope
from slotwise.paper.results import Results, panels
from slotwise.paper.svd_vs_em import FitGap
from slotwise.paper.timing import GROWTH_GRID, GrowthPoint, MeasuredTime
from slotwise.simulation.result import Result
from slotwise.simulation.simulate import log_spaced

ROUNDS = log_spaced(100_000)
RUNS = 40


def result(final: float, exponent: float = 0.1, spread: float = 0.02, unlucky: float = 0.0) -> Result:
    """Regret that grows like t^exponent to about `final`. In a share `unlucky` of the runs it grows linearly, to 100
    times `final`."""
    noise = 1 + spread * np.random.default_rng(int(final * 1000)).standard_normal((RUNS, 1))
    regret = final * noise * (ROUNDS / ROUNDS[-1]) ** exponent
    bad = round(unlucky * RUNS)
    regret[:bad] = 100 * final * ROUNDS / ROUNDS[-1]
    return Result("made_up", {}, PBM([0.5, 0.1], [1.0]), 0, 0, ROUNDS, regret, 1.0)


def diverging(base: Result, at: float) -> Result:
    """The same regret, plus a linear term from round `at` on."""
    regret = base.regret + 5.0 * np.maximum(ROUNDS - at, 0.0)
    return Result("made_up", {}, base.visitors, 0, 0, ROUNDS, regret, 1.0)


def as_the_paper_says() -> Results:
    results = Results()
    for setting in SIMULATED_SETTINGS:
        for c in WIDTHS:
            for m in SWEEPS:
                put(results, "fig-hyper", setting, hyper(c, m).label, result(1000 if c < 1 and m == 1 else 100))
    warm = result(90)
    put(results, "fig-warm", "standard", WARM.label, warm)
    for m, at in zip(RANDOM_SWEEPS, (150, 200, 2000, 20000), strict=True):
        put(results, "fig-warm", "standard", random_start(m).label, diverging(warm, at))
    for experiment, settings in (("fig-simulated", SIMULATED_SETTINGS), ("fig-behavioral", (POOLED,))):
        for setting in settings:
            for contender in ALL_CONTENDERS:
                put(results, experiment, setting, contender.label, result(300))
            for contender in (BC_GREEDY, PBM_GREEDY):
                oracle = BC_MPTS if contender is BC_GREEDY else PBM_TS
                put(results, experiment, setting, oracle.label, result(95 if oracle is BC_MPTS else 200))
                for run_set in ("curves", "linear"):
                    put(results, experiment, setting, contender.label, diverging(result(100), 300), run_set)
            put(results, experiment, setting, PB_MHB.label, result(96))
    for setting in SIMULATED_SETTINGS:
        put(results, "fig-simulated", setting, PB_MHB.label, result(96), "pairs")
        put(results, "fig-simulated", setting, BC_MPTS.label, result(200 if setting == "near-one" else 95), "pairs")
        for contender in (with_fill(contender, fill) for contender in PLUG_IN for fill in FILLS):
            put(results, "fig-fill", setting, contender.label, result(1000, exponent=1.0), "linear")
    put(results, "fig-spread", "standard", PB_MHB.label, result(100))
    for contender in (BC_GREEDY, PBM_GREEDY, GREEDY):
        put(results, "fig-spread", "standard", contender.label, result(50, unlucky=0.3))
    for contender, milliseconds in ((PB_MHB_1, 1.0), (PB_MHB_10, 10.0), (BC_MPTS, 0.3)):
        results.times["tab-time", contender.label] = MeasuredTime(1000, [milliseconds] * 3)
    results.growth = [GrowthPoint(n, positions, m, 0.01 * m * (n + positions - 1)) for n, positions, m in GROWTH_GRID]
    for em, svd in ((GREEDY_EM, GREEDY_SVD), (EPSILON_EM, EPSILON_SVD)):
        for setting in SIMULATED_SETTINGS:
            put(results, "claim-em", setting, em.label, result(110))
            put(results, "claim-em", setting, svd.label, result(100))
        results.times["claim-em", em.label] = MeasuredTime(1000, [700.0] * 3)
        results.times["claim-em", svd.label] = MeasuredTime(1000, [1.0] * 3)
    results.fits = [FitGap(setting, 0.01, 0.01, 0.02, 0.02) for setting in SIMULATED_SETTINGS]
    for contender, final in ((PBM_TS, 80), (PBM_UCB, 400), (PBM_PIE, 200), (PB_MHB, 90)):
        put(results, "fig-extra", "standard", contender.label, result(final))
    results.times["fig-extra", PMED.label] = MeasuredTime(1000, [20.0] * 3)
    results.times["fig-extra", PB_MHB_1.label] = MeasuredTime(1000, [1.0] * 3)
    return results


def put(results: Results, experiment: str, setting: str, label: str, value: Result, run_set: str = "curves") -> None:
    results.simulations[experiment, run_set, setting, label] = value


def contradicting_the_paper() -> Results:
    results = as_the_paper_says()
    for key in results.simulations:
        results.simulations[key] = result(100)
    for setting in SIMULATED_SETTINGS:
        for c in WIDTHS:
            for m in SWEEPS:  # high everywhere except at the only pair that should be high
                high = result(100 if (c, m) == (0.1, 1) else 1000)
                put(results, "fig-hyper", setting, hyper(c, m).label, high)
    warm = results.result("fig-warm", "standard", WARM.label)
    for m, at in zip(RANDOM_SWEEPS, (5000, 900, 40, 5), strict=True):  # more sweeps make it worse
        put(results, "fig-warm", "standard", random_start(m).label, diverging(warm, at))
    for m in (1, 10):
        put(results, "fig-warm", "standard", random_start(m).label, result(50))
    for experiment, settings in (("fig-simulated", SIMULATED_SETTINGS), ("fig-behavioral", (POOLED,))):
        for setting in settings:
            for run_set in ("curves", "pairs"):
                put(results, experiment, setting, PB_MHB.label, result(500), run_set)
            for contender in (BC_GREEDY, PBM_GREEDY):
                put(results, experiment, setting, contender.label, result(400))
    put(results, "fig-spread", "standard", PB_MHB.label, result(100, unlucky=0.2))
    for contender in (BC_GREEDY, PBM_GREEDY, GREEDY):
        put(results, "fig-spread", "standard", contender.label, result(200))
    results.times = {key: MeasuredTime(1000, [25.0] * 3) for key in results.times}
    rng = np.random.default_rng(0)
    results.growth = [GrowthPoint(n, positions, m, float(rng.random())) for n, positions, m in GROWTH_GRID]
    for em in (GREEDY_EM, EPSILON_EM):
        for setting in SIMULATED_SETTINGS:
            put(results, "claim-em", setting, em.label, result(900))
    results.fits = [FitGap(setting, 0.2, 0.2, 0.2, 0.2) for setting in SIMULATED_SETTINGS]
    put(results, "fig-extra", "standard", PBM_TS.label, result(400))
    return results


def made_up_reproduction(names: list[str]) -> Reproduction:
    """A reproduction of some experiments, with made-up results."""
    experiments = select_experiments(names, quick=True)
    results = as_the_paper_says()
    for experiment in experiments:
        for name, run_set in experiment.run_sets.items():
            for setting in (*run_set.settings, *panels(run_set)):
                for k, contender in enumerate(run_set.contenders):
                    params = {"c": 1000.0 if contender.params.get("c") == BEST else contender.params.get("c")}
                    made_up_result = result(0.0 if contender.policy == "oracle" else 100 + 10 * k, exponent=0.5)
                    put(
                        results, experiment.name, setting, contender.label, replace(made_up_result, params=params), name
                    )
        for timed in experiment.timed_policies:
            results.times[experiment.name, timed.contender.label] = MeasuredTime(1000, [0.001, 0.002, 0.003])
    choose_c(results, experiments)
    costs = {name: ExperimentCost() for name in names}
    return Reproduction(experiments, Scope(quick=True), results, judge_claims(experiments, results), costs)
