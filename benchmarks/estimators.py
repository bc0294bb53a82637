"""Time of the estimators for many queries at once, relative to numpy's SVD of the same matrices."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, ratio, report
from slotwise.inference.estimation.fit import fit_many
from slotwise.paper.named_click_models import SIMULATED, setting

VIEWS = 2_000


def queries(model: sw.PBM, n_queries: int, views: int = VIEWS) -> list[sw.Counts]:
    chances = np.outer(model.theta, model.kappa)
    clicks = np.random.default_rng(0).binomial(views, chances, (n_queries, *chances.shape))
    return [sw.Counts(each, views - each) for each in clicks]


def baseline(counts: list[sw.Counts]) -> Callable[[], object]:
    """Call numpy.linalg.svd on the stacked click rates, without fill, scale or warnings."""
    rates = np.stack([each.clicks / (each.clicks + each.skips) for each in counts])
    return lambda: np.linalg.svd(rates, full_matrices=False)


def against_svd(n_queries: int = 2_000) -> list[Row]:
    """`fit_many` from Counts to Fits, with standard errors and warnings."""
    rows = []
    for name in SIMULATED:
        counts = queries(setting(name), n_queries)
        contenders = {
            "svd": baseline(counts),
            "em": lambda counts=counts: fit_many(counts),
            "map": lambda counts=counts: fit_many(counts, prior=1.0),
        }
        seconds = alternate(contenders)
        if name == "standard":
            rows.append(Row("numpy.linalg.svd, 10 x 5", 1e6 * float(np.median(seconds["svd"])) / n_queries, "us/query"))
            rows.append(Row("fit_many, em, 10 x 5", 1e6 * float(np.median(seconds["em"])) / n_queries, "us/query"))
        rows.append(Row(f"em / numpy.linalg.svd, {n_queries:,} queries, {name}", ratio(seconds, "em", "svd"), "x", 5))
        rows.append(Row(f"em with prior 1 / numpy.linalg.svd, {name}", ratio(seconds, "map", "svd"), "x", 5))
    return rows


def svd_of_many_queries(n_queries: int = 10_000) -> list[Row]:
    counts = queries(setting("standard"), n_queries)
    seconds = alternate({"svd": lambda: fit_many(counts, "svd")}, turns=5)
    return [Row(f"fit_many, svd, {n_queries:,} queries", float(np.median(seconds["svd"])), "s")]


def log_of_queries(n_queries: int = 10_000) -> list[Row]:
    """`fit_queries` with names, intervals, warnings and goodness of fit, on small queries of different sizes."""
    rng, kappa = np.random.default_rng(2), np.array([1.0, 0.5, 0.35])
    log = []
    for k in range(n_queries):
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
        "em with a template": lambda: sw.fit_queries(log, "em", template=True),
    }
    seconds = alternate(contenders, turns=5)
    rows = []
    for method in ("svd", "em", "em with a template"):
        name = f"fit_queries, {method}, {n_queries:,} queries of 3 to 8 x 3"
        rows.append(Row(name, float(np.median(seconds[method])), "s"))
        rows.append(Row(f"{name} / numpy.linalg.svd", ratio(seconds, method, "numpy"), "x", 25))
    return rows


def growth(n_queries: int = 200) -> list[Row]:
    """Ten times as many items may take at most fifteen times as long, because a Newton step is O(N L^2)."""
    rng, kappa = np.random.default_rng(1), setting("standard").kappa
    sizes = (20, 200, 2_000)
    contenders = {}
    for size in sizes:
        counts = queries(sw.PBM(0.05 + 0.3 * rng.random(size), kappa), n_queries)
        contenders[str(size)] = lambda counts=counts: fit_many(counts)
    seconds = alternate(contenders, turns=5)
    rows = [Row(f"em, N = {k:,}", 1e6 * float(np.median(seconds[str(k)])) / n_queries, "us/query") for k in sizes]
    for small, large in pairwise(sizes):
        rows.append(Row(f"N = {large:,} / N = {small:,}", ratio(seconds, str(large), str(small)), "x", 15))
    return rows


def main() -> bool:
    rows = against_svd() + svd_of_many_queries() + log_of_queries() + growth()
    return report("The estimators against numpy's SVD", Path(__file__).stem, rows)
