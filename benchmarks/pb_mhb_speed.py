"""Speed of PB-MHB relative to the baseline in this file, which is a straightforward loop of the same algorithm."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path

import numba
import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, ratio, report
from slotwise.paper.named_click_models import SIMULATED, setting

ROUNDS = 100_000


@numba.njit(nogil=True)
def _draw(x, sigma, rng):
    if sigma > 0.4:
        while True:
            y = rng.random()
            step = (y - x) / sigma
            if rng.random() < math.exp(-0.5 * step * step):
                return y
    while True:
        y = x + sigma * rng.standard_normal()
        if 0.0 <= y <= 1.0:
            return y


@numba.njit(nogil=True)
def _mass(x, sigma):
    scale = 1.0 / (sigma * math.sqrt(2.0))
    return 0.5 * (math.erf((1.0 - x) * scale) + math.erf(x * scale))


@numba.njit(nogil=True)
def baseline(theta, kappa, rounds, width, visitors, rng):
    """PB-MHB without optimisations: constant-time draws, one logarithm per term, selection in L passes.

    The steps of items and of positions are written out, because as one function they took 8 to 22 % longer. The limits
    of the benchmarks are relative to this loop.
    """
    n_items, n_positions = theta.size, kappa.size
    skips = np.zeros((n_items, n_positions))
    item_clicks, position_clicks = np.zeros(n_items), np.zeros(n_positions)
    x, k = np.empty(n_items), np.empty(n_positions)
    for i in range(n_items):
        x[i] = rng.random()
    for p in range(n_positions):
        k[p] = rng.random()
    k[0] = 1.0
    display = np.empty(n_positions, np.int64)
    item_used, position_used = np.zeros(n_items, np.bool_), np.zeros(n_positions, np.bool_)
    best = np.sum(np.sort(theta)[::-1][:n_positions] * np.sort(kappa)[::-1])
    regret = 0.0
    for t in range(1, rounds + 1):
        sigma = width / math.sqrt(t)
        for i in range(n_items):
            y = _draw(x[i], sigma, rng)
            log_ratio = math.log(_mass(x[i], sigma) / _mass(y, sigma)) + item_clicks[i] * math.log(y / x[i])
            for p in range(n_positions):
                log_ratio += skips[i, p] * math.log((1.0 - y * k[p]) / (1.0 - x[i] * k[p]))
            if math.log(rng.random()) < log_ratio:
                x[i] = y
        for p in range(1, n_positions):
            y = _draw(k[p], sigma, rng)
            log_ratio = math.log(_mass(k[p], sigma) / _mass(y, sigma)) + position_clicks[p] * math.log(y / k[p])
            for i in range(n_items):
                log_ratio += skips[i, p] * math.log((1.0 - y * x[i]) / (1.0 - k[p] * x[i]))
            if math.log(rng.random()) < log_ratio:
                k[p] = y
        item_used[:] = False
        position_used[:] = False
        for _ in range(n_positions):
            item, position = -1, -1
            for i in range(n_items):
                if not item_used[i] and (item < 0 or x[i] > x[item]):
                    item = i
            for p in range(n_positions):
                if not position_used[p] and (position < 0 or k[p] > k[position]):
                    position = p
            item_used[item] = True
            position_used[position] = True
            display[position] = item
        expected = 0.0
        for p in range(n_positions):
            chance = theta[display[p]] * kappa[p]
            expected += chance
            if visitors.random() < chance:
                item_clicks[display[p]] += 1.0
                position_clicks[p] += 1.0
            else:
                skips[display[p], p] += 1.0
        regret += best - expected
    return regret


def baseline_once(model: sw.PBM, rounds: int = ROUNDS, width: float = 100.0) -> Callable[[], object]:
    """The baseline as a contender: every call does the same work, on a model shuffled as in `simulate`."""
    shuffled = model.shuffled(np.random.default_rng(0))
    return lambda: baseline(
        shuffled.theta, shuffled.kappa, rounds, width, np.random.default_rng(1), np.random.default_rng(2)
    )


def simulate_once(policy: str, model: sw.PBM, rounds: int = ROUNDS, **params: object) -> Callable[[], object]:
    """One complete run of `simulate` as a contender."""
    return lambda: sw.simulate(policy, model, rounds=rounds, runs=1, threads=1, params=params, executor=_in_thread)


class _CallingThread(Executor):
    """An executor that runs everything in the calling thread, so that its processor time can be measured."""

    def submit(self, function, *arguments):
        future: Future = Future()
        future.set_result(function(*arguments))
        return future


_in_thread = _CallingThread()


def against_baseline() -> list[Row]:
    """Time of a round of PB-MHB in the three simulated settings, and with ten sweeps."""
    rows = []
    for name in SIMULATED:
        model = setting(name)
        seconds = alternate({"baseline": baseline_once(model), "pb_mhb": simulate_once("pb_mhb", model)})
        if name == "standard":
            per_round = 1e6 / ROUNDS
            rows.append(Row("baseline, standard", float(np.median(seconds["baseline"])) * per_round, "us/round"))
            rows.append(Row("simulate, standard", float(np.median(seconds["pb_mhb"])) * per_round, "us/round"))
        rows.append(Row(f"simulate / baseline, {name}", ratio(seconds, "pb_mhb", "baseline"), "x", 0.65))
    model = setting("standard")
    sweeps = alternate({"1": simulate_once("pb_mhb", model), "10": simulate_once("pb_mhb", model, sweeps=10)}, turns=5)
    rows.append(Row("10 sweeps / 1 sweep", ratio(sweeps, "10", "1"), "x", 10.5))
    return rows


def two_threads() -> list[Row]:
    """The speedup of two threads over one, in wall-clock time."""
    gains = []
    for _ in range(5):
        walls = []
        for threads in (1, 2):
            started = time.perf_counter()
            sw.simulate("pb_mhb", setting("standard"), rounds=ROUNDS, runs=20, threads=threads)
            walls.append(time.perf_counter() - started)
        gains.append(walls[0] / walls[1])
    return [Row("speedup of two threads", float(np.median(gains)), "x", 1.7, most=False)]


def single_calls() -> list[Row]:
    """Time of one call of recommend and one of learn, N=50, L=5."""
    page = sw.Recommender([f"item {k}" for k in range(50)], [f"position {k}" for k in range(5)])
    clicked = [[], ["position 0"], [], ["position 2", "position 3"]]
    calls = 2_000

    def recommend_and_learn() -> None:
        for k in range(calls):
            page.learn(page.recommend(), clicked[k % 4])

    seconds = alternate({"calls": recommend_and_learn}, turns=7)["calls"]
    return [Row("recommend + learn, N=50, L=5", 1e6 * float(np.median(seconds)) / calls, "us", 60)]


def start_up() -> list[Row]:
    """Wall-clock seconds to import slotwise and to run a small command, with all kernels compiled before."""
    small = ["-m", "slotwise", "simulate", "--rounds", "1000", "--runs", "2", "--quiet"]
    rows = [
        ("import slotwise", ["-c", "import slotwise"], 0.5),
        ("a small `slotwise simulate`, compiled before", small, 3.0),
    ]
    environment = os.environ | {"COLUMNS": "100"}
    measured = []
    for what, arguments, limit in rows:
        walls = []
        for _ in range(6):
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
            walls.append(time.perf_counter() - started)
        measured.append(Row(what, float(np.median(walls[1:])), "s", limit))
    return measured


def memory(runs: int = 1000, rounds: int = 1_000_000) -> list[Row]:
    """Peak memory of many long runs, in a separate process."""
    code = (
        "import resource, slotwise as sw\n"
        "from slotwise.paper.named_click_models import setting\n"
        f"sw.simulate('pb_mhb', setting('standard'), rounds={rounds}, runs={runs})\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [Row(f"peak memory, {runs:,} runs of {rounds:,} rounds", float(answer.stdout), "MB", 500)]


def main() -> bool:
    rows = against_baseline() + two_threads() + single_calls() + start_up()
    rows += memory() if "--memory" in sys.argv else memory(rounds=10_000)
    return report("PB-MHB relative to the baseline", Path(__file__).stem, rows)
