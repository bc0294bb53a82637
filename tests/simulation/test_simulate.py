"""Simulations: every way of running them gives the same result, and slow implementations of the rules agree."""

import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import permutations
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.policies import oracle, pb_mhb
from slotwise.policies._policy_module import find, make_params
from slotwise.simulation import simulate as simulate_module
from slotwise.simulation.simulate import generators, log_spaced
from slotwise.simulation.simulation_loop import loop_of
from tests.policies import faulty_runs
from tests.simulation import recommender_run

MODEL = recommender_run.MODEL
HERE = Path(__file__).parent
ORACLE_WITH_UNUSED_DRAWS = str(HERE / "oracle_with_unused_draws.py")


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


# the same seed gives the same result


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    alone = sw.simulate("pb_mhb", MODEL, rounds=300, runs=5, seed=9, threads=1)
    together = sw.simulate("pb_mhb", MODEL, rounds=300, runs=5, seed=9, threads=threads)
    assert alone.regret.tolist() == together.regret.tolist()


@pytest.mark.parametrize("policy", ["pb_mhb", ORACLE_WITH_UNUSED_DRAWS], ids=["pb_mhb", "a policy given by its path"])
def test_other_processes_change_nothing(policy: str, processes: Executor) -> None:
    here = sw.simulate(policy, MODEL, rounds=300, runs=3, seed=9, params={}, delay=2)
    elsewhere = sw.simulate(policy, MODEL, rounds=300, runs=3, seed=9, params={}, delay=2, executor=processes)
    assert here.regret.tolist() == elsewhere.regret.tolist()
    assert here.policy == elsewhere.policy
    assert here.params == elsewhere.params


def test_a_pool_of_threads_may_be_the_executor() -> None:
    here = sw.simulate("pb_mhb", MODEL, rounds=300, runs=3, seed=9)
    with ThreadPoolExecutor(2) as pool:
        elsewhere = sw.simulate("pb_mhb", MODEL, rounds=300, runs=3, seed=9, executor=pool)
    assert here.regret.tolist() == elsewhere.regret.tolist()


def test_another_seed_is_another_result_and_every_run_differs() -> None:
    first = sw.simulate("uniform", MODEL, rounds=50, runs=3, seed=1)
    second = sw.simulate("uniform", MODEL, rounds=50, runs=3, seed=2)
    finals = [*first.regret[:, -1].tolist(), *second.regret[:, -1].tolist()]
    assert len(set(finals)) == 6


def test_more_runs_leave_the_first_ones_as_they_are() -> None:
    few = sw.simulate("uniform", MODEL, rounds=50, runs=2, seed=1)
    many = sw.simulate("uniform", MODEL, rounds=50, runs=4, seed=1)
    assert many.regret[:2].tolist() == few.regret.tolist()


def test_a_range_of_runs_has_the_same_results_as_all_runs(processes: Executor) -> None:
    every = sw.simulate("uniform", MODEL, rounds=50, runs=6, seed=1)
    late = sw.simulate("uniform", MODEL, rounds=50, runs=2, seed=1, first_run=3)
    far = sw.simulate("uniform", MODEL, rounds=50, runs=2, seed=1, first_run=3, executor=processes)
    assert late.regret.tolist() == far.regret.tolist() == every.regret[3:5].tolist()
    with pytest.raises(sw.BadInput, match="first_run = -1"):
        sw.simulate("uniform", MODEL, rounds=50, runs=2, first_run=-1)


# checkpoints


@pytest.mark.parametrize("rounds", [1, 2, 10, 999, 12_345, 100_000, 10_000_000])
def test_log_spaced_checkpoints_have_the_powers_of_ten_and_the_last_round(rounds: int) -> None:
    points = log_spaced(rounds).tolist()
    assert points == sorted(set(points))
    assert points[0] == 1
    assert points[-1] == rounds
    assert {10**k for k in range(9) if 10**k <= rounds} <= set(points)


def test_log_spaced_checkpoints_keep_a_steady_pace() -> None:
    points = log_spaced(1_000_000)
    late = points[points >= 1000]
    steps = np.diff(np.log10(late))
    assert steps == pytest.approx(np.full(steps.size, 1 / 20), abs=1e-3)


def test_own_checkpoints_are_sorted_and_end_with_the_last_round() -> None:
    every = sw.simulate("uniform", MODEL, rounds=60, runs=2, checkpoints=range(1, 61))
    some = sw.simulate("uniform", MODEL, rounds=60, runs=2, checkpoints=[40, 7, 7.0])
    assert some.rounds.tolist() == [7, 40, 60]
    assert some.rounds.dtype == np.int64
    assert some.regret.tolist() == every.regret[:, [6, 39, 59]].tolist()


# regret


def test_the_oracle_loses_nothing() -> None:
    result = sw.simulate("oracle", MODEL, rounds=2000, runs=4)
    assert not result.regret.any()


def uniform_z(model: sw.PBM, judged_by: sw.PBM, rounds: int = 100, runs: int = 200) -> float:
    """The deviation of the regret of uniform displays from its expectation, in standard deviations of the mean."""
    displays = permutations(range(judged_by.theta.size), judged_by.kappa.size)
    clicks = [float(judged_by.theta[list(display)] @ judged_by.kappa) for display in displays]
    loss, spread = max(clicks) - np.mean(clicks), np.std(clicks)
    measured = sw.simulate("uniform", model, rounds=rounds, runs=runs, seed=4).mean()[-1]
    return float(abs(measured - rounds * loss) / (spread * math.sqrt(rounds / runs)))


def test_the_regret_of_uniform_displays_is_its_expectation() -> None:
    # z is nearly standard normal after 20,000 displays: |z| > 5 has a probability of 1 in 1.7 million
    assert uniform_z(MODEL, judged_by=MODEL) < 5
    assert uniform_z(MODEL, judged_by=sw.PBM(MODEL.theta, MODEL.kappa * 0.97)) > 5  # a slightly wrong model is detected


# all policies have the same visitors


def counts_after(policy: ModuleType, rounds: int, **params: object) -> sw.Counts:
    visitors, rng = generators(seed=6, run=1)
    truth = MODEL.shuffled(visitors)
    settings = make_params(policy, params, truth.arrays())
    state = policy.init(settings, 6, 3, rng)
    best, points = truth.best_display(), np.array([rounds])
    loop = loop_of(policy, pbm)
    loop(settings, state, truth.arrays(), best, points, 0, visitors, rng, np.zeros(2, np.int64), np.zeros(1))
    return sw.Counts.of(state.counts)


def test_policies_that_show_the_same_get_the_same_clicks() -> None:
    lean, wasteful = counts_after(oracle, 500), counts_after(find(ORACLE_WITH_UNUSED_DRAWS), 500, wasted=7)
    assert lean.clicks.sum() > 100
    assert lean.clicks.tolist() == wasteful.clicks.tolist()
    assert lean.skips.tolist() == wasteful.skips.tolist()


def test_the_oracle_with_unused_draws_loses_nothing_either() -> None:
    assert not sw.simulate(find(ORACLE_WITH_UNUSED_DRAWS), MODEL, rounds=100, runs=2).regret.any()


# late clicks


def slow_delay(rounds: int, delay: int, seed: int) -> list[float]:
    """The rule: when round s is chosen, a click of round t counts as a click if s >= t + 1 + delay, else as a skip."""
    visitors, rng = generators(seed, run=0)
    truth = MODEL.shuffled(visitors)
    params = make_params(pb_mhb, {}, None)
    state = pb_mhb.init(params, 6, 3, rng)
    display, clicks = np.empty(3, np.int64), np.empty(3, np.int64)
    best = truth.expected_clicks(truth.best_display())
    history: list[tuple[int, int, int, int]] = []  # round, item, position, clicked
    regret, lost = [], 0.0
    for s in range(1, rounds + 1):
        known = np.zeros((2, 6, 3))
        for t, item, position, clicked in history:
            known[1 if clicked and s >= t + 1 + delay else 0, item, position] += 1.0
        counts = sw.Counts(clicks=known[1], skips=known[0], displays=s - 1)
        pb_mhb.choose(params, pb_mhb.State(counts.arrays(), state.theta, state.kappa), rng, display)
        pbm.click(truth.arrays(), display, visitors, clicks)
        history += [(s, int(display[k]), k, int(clicks[k])) for k in range(3)]
        lost += best - truth.expected_clicks(display)
        regret.append(lost)
    return regret


@pytest.mark.parametrize("delay", [0, 1, 4, 200])
def test_a_click_is_learnt_after_its_delay(delay: int) -> None:
    rounds = 120
    result = sw.simulate("pb_mhb", MODEL, rounds=rounds, runs=1, seed=3, delay=delay, checkpoints=range(1, rounds + 1))
    assert result.delay == delay
    assert result.regret[0].tolist() == slow_delay(rounds, delay, seed=3)


def test_the_delays_above_give_different_results() -> None:
    assert slow_delay(120, 4, seed=3) != slow_delay(120, 3, seed=3)


# the simulator, one call at a time, and plain Python


@pytest.mark.parametrize("version", recommender_run.VERSIONS)
def test_one_call_at_a_time_equals_the_simulation_bit_for_bit(version: str) -> None:
    rounds = 1500
    policy, params = recommender_run.VERSIONS[version]
    single_run = recommender_run.run_recommender(rounds, policy, params)
    result = sw.simulate(
        policy,
        MODEL,
        rounds=rounds,
        runs=recommender_run.RUN + 1,
        seed=recommender_run.SEED,
        params=params,
        checkpoints=range(1, rounds + 1),
    )
    assert result.regret[recommender_run.RUN].tolist() == single_run.regret


def test_plain_python_shows_the_same_displays_as_compiled_code() -> None:
    command = [sys.executable, str(HERE / "recommender_run.py"), "250"]
    plain = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, check=True)
    displays = json.loads(plain.stdout)
    for name, version in recommender_run.VERSIONS.items():
        assert displays[name] == recommender_run.run_recommender(250, *version).displays


# progress, and its cost


@pytest.mark.parametrize("executor", [None, "threads"])
def test_progress_grows_to_all_rounds_of_all_runs(executor: str | None) -> None:
    calls: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        way = {"executor": pool} if executor else {}
        sw.simulate("uniform", MODEL, rounds=400, runs=6, progress=calls.append, **way)  # type: ignore[arg-type]
    assert calls == sorted(calls)
    assert calls[-1] == 6 * 400


class Stop(Exception):
    pass


def stop(_: int) -> None:
    raise Stop


def test_an_interrupt_stops_the_runs_that_have_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = []

    def loop(*_: object) -> None:
        time.sleep(0.01)
        loops.append(True)

    monkeypatch.setattr(simulate_module, "loop_of", lambda *_: loop)
    with pytest.raises(Stop):
        sw.simulate("uniform", MODEL, rounds=10, runs=10_000, threads=1, progress=stop)
    assert len(loops) < 5_000  # progress is reported several times a second; all runs take 100 s


@pytest.mark.parametrize("mistake", ["too_large", "raise"])
def test_another_process_reports_a_mistake_of_a_policy_as_this_one_does(mistake: str, processes: Executor) -> None:
    here = faulty_runs.message(mistake)
    assert "faulty_policy.py, line " in here
    assert faulty_runs.message(mistake, executor=processes) == here


class Broken(Executor):
    def submit(self, *_: object, **__: object) -> "Future[object]":  # type: ignore[override]
        future: Future[object] = Future()
        future.set_exception(Stop())
        return future


def test_a_run_that_fails_in_an_executor_fails_the_simulation() -> None:
    with pytest.raises(Stop):
        sw.simulate("uniform", MODEL, rounds=10, runs=2, executor=Broken())


@pytest.mark.parametrize("executor", [None, "threads"])
def test_seconds_exclude_compilation(executor: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def loop(*_: object) -> None:
        begun = time.thread_time()
        effort = 0.005 if compiled else 0.15  # the first call is the one that compiles
        compiled.append(True)
        while time.thread_time() - begun < effort:
            pass

    monkeypatch.setattr(simulate_module, "loop_of", lambda *_: loop)
    with ThreadPoolExecutor(1) as pool:
        way = {"executor": pool} if executor else {"threads": 1}
        result = sw.simulate("uniform", MODEL, rounds=10, runs=4, **way)  # type: ignore[arg-type]
    assert 4 * 0.005 <= result.seconds < 0.1


def test_many_runs_keep_only_their_checkpoints() -> None:
    sw.simulate("oracle", MODEL, rounds=1, runs=1)  # compile outside the measurement
    tracemalloc.start()
    try:
        result = sw.simulate("oracle", MODEL, rounds=5000, runs=300, checkpoints=[100])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.regret.shape == (300, 2)
    assert peak < 4_000_000  # every round of every run would be 12 million bytes


def test_the_result_describes_the_simulation() -> None:
    result = sw.simulate("pb_mhb", MODEL, rounds=20, runs=2, seed=5, params={"width": 10, "reference": "none"}, delay=1)
    assert result.policy == "pb_mhb"
    assert result.params == {"width": 10.0, "sweeps": 1, "start": "warm", "reference": "none"}
    assert result.visitors.parameters() == MODEL.parameters()
    assert (result.seed, result.delay, result.runs) == (5, 1, 2)
    assert result.seconds > 0


def test_a_fitted_model_is_simulated_like_any_other() -> None:
    fitted = sw.fit(sw.Counts([[40, 20], [20, 10], [5, 3]], [[60, 80], [80, 90], [95, 97]]))
    typed = sw.PBM(fitted.theta, fitted.kappa)
    results = [sw.simulate("uniform", model, rounds=50, runs=2, threads=1) for model in (fitted, typed)]
    np.testing.assert_array_equal(results[0].regret, results[1].regret)
