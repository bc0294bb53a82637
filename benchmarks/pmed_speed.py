"""Time of a round of PMED, and the share of each of its stages."""

import ctypes
import math
from pathlib import Path

import numba
import numpy as np

import slotwise as sw
from benchmarks.measure import Row, report
from slotwise.clickmodels import pbm
from slotwise.inference.bounds.regret_program import solve_regret_program
from slotwise.paper.named_click_models import SIMULATED, setting
from slotwise.policies import pmed
from slotwise.policies._policy_module import make_params

ROUNDS = 10_000
STAGES = ("cycle", "estimate (MLE)", "program", "decompose and queue", "the round itself")

clock = ctypes.CDLL(None).clock  # processor time in microseconds, callable from compiled code
clock.restype, clock.argtypes = ctypes.c_long, ()


@numba.njit
def timed(params, state, model, rounds, visitors, rng, spent):
    """The loop of a run, with the stages of `choose` timed. Fills `spent` with their times and the number of plans."""
    n_positions = state.positions.size
    display, clicks = np.empty(n_positions, np.int64), np.empty(n_positions, np.int64)
    waiting, queue = state.waiting, state.queue
    started = clock()
    for _ in range(rounds):
        if waiting[0] >= waiting[1]:
            log_t = math.log(1.0 + state.counts.displays[0])
            waiting[0] = 0
            begin = clock()
            waiting[1] = pmed.queue_cycle(params.exploration * math.sqrt(log_t), state.counts, state.positions, queue)
            spent[0] += clock() - begin
            begin = clock()
            model_estimate = pmed.estimate(state)
            spent[1] += clock() - begin
            begin = clock()
            solve_regret_program(model_estimate, params.tolerance, state.program)
            spent[2] += clock() - begin
            begin = clock()
            waiting[1] = pmed.queue_owed(
                log_t, state.program.q, state.counts, state.items, state.positions, queue, waiting[1]
            )
            spent[3] += clock() - begin
            for rank in range(n_positions):
                queue[waiting[1], state.positions[rank]] = state.items[rank]
            waiting[1] += 1
            spent[5] += 1
        pmed.choose(params, state, rng, display)  # the queue is not empty, so this only takes its next display
        pbm.click(model, display, visitors, clicks)
        pmed.update(params, state, display, clicks)
    spent[4] = clock() - started - spent[:4].sum()


def shares() -> list[Row]:
    """The share of each stage in a run on the standard setting."""
    model = setting("standard").shuffled(np.random.default_rng(0))
    params = make_params(pmed, {}, model.arrays())
    spent = np.zeros(6)
    for rounds in (10, ROUNDS):  # the first run compiles
        spent[:] = 0.0
        state = pmed.init(params, model.theta.size, model.kappa.size, np.random.default_rng(1))
        timed(params, state, model.arrays(), rounds, np.random.default_rng(2), np.random.default_rng(3), spent)
    total = spent[:5].sum()
    rows = [Row(f"share of {stage}", 100.0 * spent[k] / total, "%") for k, stage in enumerate(STAGES)]
    return [*rows, Row("rounds per plan", ROUNDS / spent[5], "")]


def per_round() -> list[Row]:
    """Milliseconds per round over 1e4 rounds, mean of 10 consecutive runs."""
    rows = []
    for name in SIMULATED:
        result = sw.simulate("pmed", setting(name), rounds=ROUNDS, runs=10, threads=1)
        rows.append(Row(f"pmed, {name}", 1e3 * result.seconds / (10 * ROUNDS), "ms/round", 2.0))
    return rows


def main() -> bool:
    return report("PMED, N=10, L=5, 1e4 rounds", Path(__file__).stem, per_round() + shares())
