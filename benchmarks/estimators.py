"""How long the estimators take for many queries at once, against numpy's SVD of the same matrices as the yardstick."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

import slotwise as sw
from benchmarks.measure import Row, ratio, report, take_turns
from slotwise.inference.estimation.fit import fit_many
from slotwise.paper.settings import SIMULATED, setting

VIEWS = 2_000


def queries(model: sw.PBM, how_many: int, views: int = VIEWS) -> list[sw.Counts]:
    chances = np.outer(model.theta, model.kappa)
    clicks = np.random.default_rng(0).binomial(views, chances, (how_many, *chances.shape))
    return [sw.Counts(each, views - each) for each in clicks]


def yardstick(counts: list[sw.Counts]) -> Callable[[], object]:
    """numpy.linalg.svd of the click rates, stacked, and nothing else: no fill, no scale, no report."""
    rates = np.stack([each.clicks / (each.clicks + each.skips) for each in counts])
    return lambda: np.linalg.svd(rates, full_matrices=False)


def against_svd(how_many: int = 2_000) -> list[Row]:
    """`fit_many` from Counts to Fits, standard errors and warnings included."""
    rows = []
    for name in SIMULATED:
        counts = queries(setting(name), how_many)
        contenders = {
            "svd": yardstick(counts),
            "em": lambda counts=counts: fit_many(counts),
            "map": lambda counts=counts: fit_many(counts, prior=1.0),
        }
        seconds = take_turns(contenders)
        if name == "standard":
            rows.append(Row("numpy.linalg.svd, 10 x 5", 1e6 * float(np.median(seconds["svd"])) / how_many, "us/query"))
            rows.append(Row("fit_many, em, 10 x 5", 1e6 * float(np.median(seconds["em"])) / how_many, "us/query"))
        rows.append(Row(f"em / numpy.linalg.svd, {how_many:,} queries, {name}", ratio(seconds, "em", "svd"), "x", 5))
        rows.append(Row(f"em with prior 1 / numpy.linalg.svd, {name}", ratio(seconds, "map", "svd"), "x", 5))
    return rows


def many_by_svd(how_many: int = 10_000) -> list[Row]:
    counts = queries(setting("standard"), how_many)
    seconds = take_turns({"svd": lambda: fit_many(counts, "svd")}, turns=5)
    return [Row(f"fit_many, svd, {how_many:,} queries", float(np.median(seconds["svd"])), "s")]


def queries_of_a_log(how_many: int = 10_000) -> list[Row]:
    """`fit_queries`: names, intervals, warnings and misfits included, of small queries, each of its own size."""
    rng, kappa = np.random.default_rng(2), np.array([1.0, 0.5, 0.35])
    log = []
    for k in range(how_many):
        size = int(rng.integers(3, 9))
        views = rng.integers(50, 2_000, (size, 3))
        clicks = rng.binomial(views, np.outer(0.02 + 0.28 * rng.random(size), kappa))
        log.append(
            sw.Query(f"q{k}", [f"ad {j}" for j in range(size)], ["1", "2", "3"], sw.Counts(clicks, views - clicks))
        )
    rates = [query.counts.clicks / (query.counts.clicks + query.counts.skips) for query in log]
    stacks = [np.stack([rate for rate in rates if len(rate) == size]) for size in range(3, 9)]
    contenders = {
        "numpy": lambda: [np.linalg.svd(stack, full_matrices=False) for stack in stacks],
        "svd": lambda: sw.fit_queries(log, "svd"),
        "em": lambda: sw.fit_queries(log, "em"),
    }
    seconds = take_turns(contenders, turns=5)
    rows = []
    for method in ("svd", "em"):
        name = f"fit_queries, {method}, {how_many:,} queries of 3 to 8 x 3"
        rows.append(Row(name, float(np.median(seconds[method])), "s"))
        rows.append(Row(f"{name} / numpy.linalg.svd", ratio(seconds, method, "numpy"), "x", 25))
    return rows


def growth(how_many: int = 200) -> list[Row]:
    """Ten times the items must cost about ten times as much: a Newton step is O(N L^2)."""
    rng, kappa = np.random.default_rng(1), setting("standard").kappa
    sizes = (20, 200, 2_000)
    contenders = {}
    for size in sizes:
        counts = queries(sw.PBM(0.05 + 0.3 * rng.random(size), kappa), how_many)
        contenders[str(size)] = lambda counts=counts: fit_many(counts)
    seconds = take_turns(contenders, turns=5)
    rows = [Row(f"em, N = {k:,}", 1e6 * float(np.median(seconds[str(k)])) / how_many, "us/query") for k in sizes]
    for small, large in pairwise(sizes):
        rows.append(Row(f"N = {large:,} / N = {small:,}", ratio(seconds, str(large), str(small)), "x", 15))
    return rows


def main() -> bool:
    rows = against_svd() + many_by_svd() + queries_of_a_log() + growth()
    return report("The estimators against numpy's SVD", Path(__file__).stem, rows)
