"""The mixing sampler relative to the paper's random walk, and the time of a display of slot_ts.

The measure is effective samples per second of the worst theta or kappa, on the counts of PB-MHB after T rounds. The
walk runs for two million sweeps. On the counts after 1e5 rounds, its effective sample size is only a few dozen, so
these ratios are rough.
"""

import time

import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, ratio, report
from benchmarks.pb_mhb_speed import simulate_once
from slotwise.inference.sampling.chain import Chain, Sampler, Target
from slotwise.inference.sampling.effective_sample_size import ess, tail_ess
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.paper.named_click_models import SIMULATED, setting
from slotwise.simulation.simulate import counts_after

NAMES, ROUNDS = ["standard", "near-zero", "q10"], [1_000, 10_000, 100_000]
ROWS = 10_000
WIDTH = 100.0


def rate(target: Target, sampler: Sampler, start: Chain | None, thin: int, width: float = WIDTH) -> tuple[float, Chain]:
    """Effective samples per second of the worst coordinate on the scale of the chain, and the chain."""
    chain = Chain(target, sampler, width, np.random.default_rng(1))
    if start is None:
        chain.burn_in(2_000)
    else:
        chain.state.theta[:], chain.state.kappa[:] = start.state.theta, start.state.kappa
        chain.burn_in(100)
    started = time.thread_time()
    chain.record(ROWS, thin)
    seconds = time.thread_time() - started
    draws = np.concatenate([chain.draws.theta, chain.draws.kappa[:, target.free_from :]], axis=1)[None]
    return float(np.fmin(ess(draws), tail_ess(draws)).min()) / seconds, chain


def against_random_walk() -> list[Row]:
    rows = []
    for reference, free_from in (("none", 0), ("first", 1)):
        for name in NAMES:
            for rounds in ROUNDS:
                counts = counts_after("pb_mhb", setting(name), rounds, params={"reference": reference})
                target = Target(counts.arrays(), (1.0, 1.0), Learnt.NOTHING, free_from)
                ours, chain = rate(target, Sampler.MIXING, None, 2)
                walk, _ = rate(target, Sampler.RANDOM_WALK, chain, 200)
                # with kappa_1 = 1 the walk is so good after 1,000 rounds that no sampler can be 20 times better
                limit = 20.0 if reference == "none" else None
                what = f"effective samples per second / random walk, reference={reference}, {name}, T={rounds:,}"
                rows.append(Row(what, ours / walk, "x", limit, most=False))
    return rows


def log_odds() -> list[Row]:
    """The log-odds walk, which the paper's conclusion suggests, relative to the paper's random walk, at the best
    widths."""
    rows = []
    for name in NAMES:
        counts = counts_after("pb_mhb", setting(name), 10_000, params={"reference": "none"})
        target = Target(counts.arrays(), (1.0, 1.0), Learnt.NOTHING, 0)
        ours, chain = rate(target, Sampler.MIXING, None, 2)
        walks = {
            (sampler, width): rate(target, sampler, chain, 100, width)[0]
            for sampler in (Sampler.RANDOM_WALK, Sampler.LOG_ODDS)
            for width in (1.0, 10.0, 30.0, 100.0)
        }
        best = {sampler: max((walks[pair], pair[1]) for pair in walks if pair[0] == sampler) for sampler, _ in walks}
        (odds, odds_width), (walk, walk_width) = best[Sampler.LOG_ODDS], best[Sampler.RANDOM_WALK]
        what = f"log-odds walk (width {odds_width:g}) / random walk (width {walk_width:g}), best of 4 widths, {name}"
        rows.append(Row(what, odds / walk, "x"))
        rows.append(Row(f"mixing / the better of these walks, {name}", ours / max(odds, walk), "x"))
    return rows


def displays() -> list[Row]:
    """Time of a round of slot_ts relative to a round of pb_mhb."""
    rows = []
    for name in SIMULATED:
        model = setting(name)
        contenders = {
            "pb_mhb": simulate_once("pb_mhb", model, reference="none"),
            "slot_ts": simulate_once("slot_ts", model),
            "uniform": simulate_once("slot_ts", model, prior="uniform"),
            "whole": simulate_once("slot_ts", model, prior="uniform", stride=1),
        }
        seconds = alternate(contenders, turns=7)
        rows.append(Row(f"slot_ts / pb_mhb, {name}", ratio(seconds, "slot_ts", "pb_mhb"), "x", 3.0))
        rows.append(Row(f"slot_ts prior=uniform / pb_mhb, {name}", ratio(seconds, "uniform", "pb_mhb"), "x"))
        rows.append(Row(f"slot_ts prior=uniform stride=1 / pb_mhb, {name}", ratio(seconds, "whole", "pb_mhb"), "x"))
    return rows


def growth() -> list[Row]:
    """The exponent of the growth of a sweep's time with the number of items, all shown equally often."""
    sizes, seconds = [100, 1_000, 10_000], []
    for n_items in sizes:
        clicks = np.random.default_rng(0).poisson(20.0, (n_items, 5)).astype(float)
        target = Target(sw.Counts(clicks, 10.0 * clicks + 50.0).arrays(), (1.0, 1.0), Learnt.NOTHING, 0)
        chain = Chain(target, Sampler.MIXING, WIDTH, np.random.default_rng(0))
        chain.burn_in(10)
        started = time.thread_time()
        chain.record(1, 1_000_000 // n_items)
        seconds.append((time.thread_time() - started) / (1_000_000 // n_items))
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return [Row("a sweep's time grows with N to the power", float(exponent), "", 1.15)]


def main() -> bool:
    return report("The mixing sampler", "sampler", against_random_walk() + log_odds() + displays() + growth())


if __name__ == "__main__":
    main()
