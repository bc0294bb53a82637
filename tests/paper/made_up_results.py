"""Made-up evidence: what the paper found, for claims to hold, and its opposite, for them to fail."""

from dataclasses import replace

import numpy as np

from slotwise.paper.claims import judged
from slotwise.paper.experiments import (
    BC_GREEDY,
    BC_MPTS,
    BEST,
    EPSILON_EM,
    EPSILON_SVD,
    EVERYBODY,
    GREEDY,
    GREEDY_EM,
    GREEDY_SVD,
    PB_MHB,
    PBM_GREEDY,
    PBM_PIE,
    PBM_TS,
    PBM_UCB,
    PMED,
    POOLED,
    RANDOM_SWEEPS,
    SINGLE,
    SWEEPS,
    TEN,
    THREE,
    WARM,
    WIDTHS,
    by_mean,
    chosen,
    hyper,
    random_start,
)
from slotwise.paper.plan import choose
from slotwise.paper.reproduce import Reproduction, Spent
from slotwise.paper.results import Evidence, panels
from slotwise.paper.svd_vs_em import FitGap
from slotwise.paper.timing import GROWTH_GRID, Growth, Time
from slotwise.simulation.result import Result
from slotwise.simulation.simulate import log_spaced

ROUNDS = log_spaced(100_000)
RUNS = 40


def result(final: float, exponent: float = 0.1, spread: float = 0.02, unlucky: float = 0.0) -> Result:
    """Regret that grows like t to the exponent to about `final`; some runs are linear and end a hundred times above."""
    noise = 1 + spread * np.random.default_rng(int(final * 1000)).standard_normal((RUNS, 1))
    regret = final * noise * (ROUNDS / ROUNDS[-1]) ** exponent
    bad = round(unlucky * RUNS)
    regret[:bad] = 100 * final * ROUNDS / ROUNDS[-1]
    return Result("made_up", {}, np.array([0.5, 0.1]), np.array([1.0]), 0, 0, ROUNDS, regret, 1.0)


def leaving(base: Result, at: float) -> Result:
    """The same regret until a round, and linear from there on."""
    regret = base.regret + 5.0 * np.maximum(ROUNDS - at, 0.0)
    return Result("made_up", {}, base.theta, base.kappa, 0, 0, ROUNDS, regret, 1.0)


def as_the_paper_says() -> Evidence:
    evidence = Evidence()
    for setting in THREE:
        for c in WIDTHS:
            for m in SWEEPS:
                put(evidence, "fig-hyper", setting, hyper(c, m).label, result(1000 if c < 1 and m == 1 else 100))
    warm = result(90)
    put(evidence, "fig-warm", "standard", WARM.label, warm)
    for m, at in zip(RANDOM_SWEEPS, (150, 200, 2000, 20000), strict=True):
        put(evidence, "fig-warm", "standard", random_start(m).label, leaving(warm, at))
    for experiment, settings in (("fig-simulated", THREE), ("fig-behavioral", (POOLED,))):
        for setting in settings:
            for who in EVERYBODY:
                put(evidence, experiment, setting, who.label, result(300))
            for who in (BC_GREEDY, PBM_GREEDY):
                told = BC_MPTS if who is BC_GREEDY else PBM_TS
                put(evidence, experiment, setting, told.label, result(95 if told is BC_MPTS else 200))
                put(evidence, experiment, setting, who.label, leaving(result(100), 300))
            put(evidence, experiment, setting, PB_MHB.label, result(96))
    for setting in THREE:
        put(evidence, "fig-simulated", setting, PB_MHB.label, result(96), "pairs")
        put(evidence, "fig-simulated", setting, BC_MPTS.label, result(200 if setting == "near-one" else 95), "pairs")
        for who in (BC_GREEDY, PBM_GREEDY):
            put(evidence, "fig-fill", setting, by_mean(who).label, result(1000, exponent=1.0))
    put(evidence, "fig-spread", "standard", PB_MHB.label, result(100))
    for who in (BC_GREEDY, PBM_GREEDY, GREEDY):
        put(evidence, "fig-spread", "standard", who.label, result(50, unlucky=0.3))
    for who, milliseconds in ((SINGLE, 1.0), (TEN, 10.0), (BC_MPTS, 0.3)):
        evidence.times["tab-time", who.label] = Time(1000, [milliseconds] * 3)
    evidence.growth = [Growth(n, places, m, 0.01 * m * (n + places - 1)) for n, places, m in GROWTH_GRID]
    for em, svd in ((GREEDY_EM, GREEDY_SVD), (EPSILON_EM, EPSILON_SVD)):
        for setting in THREE:
            put(evidence, "claim-em", setting, em.label, result(110))
            put(evidence, "claim-em", setting, svd.label, result(100))
        evidence.times["claim-em", em.label] = Time(1000, [700.0] * 3)
        evidence.times["claim-em", svd.label] = Time(1000, [1.0] * 3)
    evidence.fits = [FitGap(setting, 0.01, 0.01, 0.02, 0.02) for setting in THREE]
    for who, final in ((PBM_TS, 80), (PBM_UCB, 400), (PBM_PIE, 200), (PB_MHB, 90)):
        put(evidence, "fig-extra", "standard", who.label, result(final))
    evidence.times["fig-extra", PMED.label] = Time(1000, [20.0] * 3)
    evidence.times["fig-extra", SINGLE.label] = Time(1000, [1.0] * 3)
    return evidence


def put(evidence: Evidence, experiment: str, setting: str, label: str, value: Result, plays: str = "curves") -> None:
    evidence.results[experiment, plays, setting, label] = value


def otherwise() -> Evidence:
    """Nothing is as the paper says."""
    evidence = as_the_paper_says()
    for where in evidence.results:
        evidence.results[where] = result(100)
    for setting in THREE:
        for c in WIDTHS:
            for m in SWEEPS:  # high everywhere but at one odd place
                high = result(100 if (c, m) == (0.1, 1) else 1000)
                put(evidence, "fig-hyper", setting, hyper(c, m).label, high)
    warm = evidence.result("fig-warm", "standard", WARM.label)
    for m, at in zip(RANDOM_SWEEPS, (5000, 900, 40, 5), strict=True):  # more sweeps make it worse
        put(evidence, "fig-warm", "standard", random_start(m).label, leaving(warm, at))
    for m in (1, 10):
        put(evidence, "fig-warm", "standard", random_start(m).label, result(50))
    for experiment, settings in (("fig-simulated", THREE), ("fig-behavioral", (POOLED,))):
        for setting in settings:
            for plays in ("curves", "pairs"):
                put(evidence, experiment, setting, PB_MHB.label, result(500), plays)
            for who in (BC_GREEDY, PBM_GREEDY):
                put(evidence, experiment, setting, who.label, result(400))
    put(evidence, "fig-spread", "standard", PB_MHB.label, result(100, unlucky=0.2))
    for who in (BC_GREEDY, PBM_GREEDY, GREEDY):
        put(evidence, "fig-spread", "standard", who.label, result(200))
    evidence.times = {where: Time(1000, [25.0] * 3) for where in evidence.times}
    rng = np.random.default_rng(0)
    evidence.growth = [Growth(n, places, m, float(rng.random())) for n, places, m in GROWTH_GRID]
    for em in (GREEDY_EM, EPSILON_EM):
        for setting in THREE:
            put(evidence, "claim-em", setting, em.label, result(900))
    evidence.fits = [FitGap(setting, 0.2, 0.2, 0.2, 0.2) for setting in THREE]
    put(evidence, "fig-extra", "standard", PBM_TS.label, result(400))
    return evidence


def everything(names: list[str]) -> Reproduction:
    """All that some experiments measure, made up."""
    experiments = chosen(names, quick=True)
    evidence = as_the_paper_says()
    for experiment in experiments:
        for plays, block in experiment.plays.items():
            for setting in (*block.settings, *panels(block)):
                for k, who in enumerate(block.contenders):
                    settings = {"c": 1000.0 if who.params.get("c") == BEST else who.params.get("c")}
                    made = result(0.0 if who.policy == "oracle" else 100 + 10 * k, exponent=0.5)
                    put(evidence, experiment.name, setting, who.label, replace(made, params=settings), plays)
        for row in experiment.timed:
            evidence.times[experiment.name, row.contender.label] = Time(1000, [0.001, 0.002, 0.003])
    choose(evidence, experiments)
    found = Reproduction(experiments, 0, True, None, evidence, judged(experiments, evidence))
    found.spent = {name: Spent() for name in names}
    return found
