"""Simulate many runs of one policy on one click model. Runs use threads or any executor."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, format_value, integer_at_least, string_mapping, vector
from slotwise.clickmodels._click_model import BestDisplay, ClickModel
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.policies._output_checks import check_state_shapes
from slotwise.policies._policy_errors import name_of, reported_errors, reporting
from slotwise.policies._policy_module import (
    GIVEN_TYPES,
    PolicyReference,
    find,
    keeps_counts,
    make_params,
    plain_params,
    problem_with_visitors,
    setting_types,
)
from slotwise.policies._source_lines import KernelCall
from slotwise.simulation import THREAD_NAMES
from slotwise.simulation.result import Result
from slotwise.simulation.simulation_loop import loop_of

POINTS_PER_DECADE = 20
STOP_SECONDS = 2.0  # how long an interrupted simulation waits for its loops
Progress = Callable[[int], None]
Generators = tuple[np.random.Generator, np.random.Generator]  # the visitors' and the policy's


def simulate(
    policy: str | ModuleType,
    model: ClickModel,
    rounds: int = 100_000,
    runs: int = 20,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoints: ArrayLike | None = None,
    delay: int = 0,
    progress: Progress | None = None,
    first_run: int = 0,
) -> Result:
    """Simulate `runs` independent runs of `rounds` rounds, and return the regret at the checkpoints.

    The policy is a name, the path of a .py file, or a module. The runs use `threads` threads, by default one per core.
    With an `executor`, such as a process pool or a cluster, runs are pickled and sent to it instead. The same seed
    gives the same result in both cases. A click arrives `delay` rounds late. Until then, its position counts as
    skipped. `progress` is called several times a second with the number of rounds that all runs have done so far. The
    first run has the number `first_run`. Run r of a seed does not depend on the other runs, so a long simulation can be
    split into several calls.

    >>> visitors = PBM(theta=[0.3, 0.2, 0.1], kappa=[1.0, 0.5])
    >>> pb_mhb = simulate("pb_mhb", visitors, rounds=2_000, runs=4)
    >>> uniform = simulate("uniform", visitors, rounds=2_000, runs=4)
    >>> bool(pb_mhb.mean()[-1] < uniform.mean()[-1])  # it learns
    True
    """
    check_model(model)
    if executor is not None and not isinstance(executor, Executor):
        raise BadInput(f"executor = {format_value(executor)} is not a concurrent.futures.Executor")
    if progress is not None and not callable(progress):
        raise BadInput(f"progress = {format_value(progress)} is not callable")
    module = find(policy)
    check_visitors(module, model)
    start = integer_at_least("first_run", first_run, least=0)
    run_numbers = range(start, start + integer_at_least("runs", runs, least=1))
    job = _RunJob(
        policy=PolicyReference.of(module),
        model=model,
        params=dict(string_mapping("params", {} if params is None else params)),
        checkpoints=_checkpoints(checkpoints, integer_at_least("rounds", rounds, least=1)),
        seed=integer_at_least("seed", seed, least=0),
        delay=integer_at_least("delay", delay, least=0),
    )
    if job.delay and not keeps_counts(module):
        raise BadInput(f"{name_of(module)} keeps no counts, so it cannot learn with a delay of {job.delay} rounds")
    for name, kind in setting_types(module).items():
        if kind in GIVEN_TYPES and name in job.params:
            raise BadInput(
                f"{name} = {format_value(job.params[name])}: the simulation sets it to its own model, leave it out"
            )
    settings = make_params(module, params, model.arrays())
    if executor is None:
        n_threads = os.cpu_count() or 1 if threads is None else integer_at_least("threads", threads, least=1)
        results = _run_on_threads(job, module, run_numbers, n_threads, progress)
    else:
        results = _run_on_executor(job, run_numbers, executor, progress)
    return Result(
        policy=name_of(module),
        params=plain_params(module, settings),
        visitors=model,
        seed=job.seed,
        delay=job.delay,
        rounds=job.checkpoints,
        regret=np.array([regret for regret, _ in results]),
        seconds=sum(seconds for _, seconds in results),
    )


def generators(seed: int, run: int) -> Generators:
    """The random generators of the visitors and of the policy in one run.

    They are separate, so that all policies have the same visitors.
    """
    visitors, policy = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(2)
    return np.random.default_rng(visitors), np.random.default_rng(policy)


def log_spaced(rounds: int) -> Ints:
    """Checkpoints evenly spaced on a logarithmic axis, including every power of ten and the last round."""
    decades = np.arange(0.0, np.log10(rounds), 1.0 / POINTS_PER_DECADE)
    return np.unique(np.append(np.rint(10.0**decades), rounds)).astype(np.int64)


@dataclass(frozen=True)
class _RunJob:
    """All that a run needs. It can be pickled and sent to another process."""

    policy: PolicyReference
    model: ClickModel
    params: dict[str, Any]
    checkpoints: Ints
    seed: int
    delay: int

    def run(self, module: ModuleType, run: int, progress: Ints) -> tuple[Floats, float]:
        """Simulate one run. Returns its regret at the checkpoints and the seconds in the compiled loop."""
        visitors, rng = generators(self.seed, run)
        _, regret, seconds = self.run_on(
            self.model.shuffled(visitors), module, self.checkpoints, (visitors, rng), progress
        )
        return regret, seconds

    def run_on(
        self, model: ClickModel, module: ModuleType, checkpoints: Ints, rngs: Generators, progress: Ints
    ) -> tuple[Any, Floats, float]:
        """Simulate one run on a model. Returns the policy's final state, the regret, and the seconds."""
        visitors, rng = rngs
        truth, best = model.arrays(), model.best_display()
        given = {name: BestDisplay(best) for name, kind in setting_types(module).items() if kind is BestDisplay}
        params = make_params(module, self.params | given, _policys_view(truth))
        n_items, n_positions = model.n_items, model.n_positions
        state = reporting(module, "init", module.init)(params, n_items, n_positions, rng)
        check_state_shapes(module, "init", state, n_items, n_positions)
        regret = np.zeros(checkpoints.size)
        loop = loop_of(module, model.kernels)
        started = time.thread_time()
        with reported_errors(module, lambda: _loop_calls(module, params, state, rng, best)):
            loop(params, state, truth, best, checkpoints, self.delay, visitors, rng, progress, regret)
        return state, regret, time.thread_time() - started

    def compile(self, module: ModuleType) -> None:
        """Compile the loop by simulating zero rounds, so that compiling does not count as the time of a run."""
        self.run_on(self.model, module, np.zeros(1, np.int64), generators(0, 0), _progress_cells(1)[0])


def _policys_view(truth: Any) -> Any:
    """The click model for the policy's settings: copies, so that a policy that writes to them changes no visitor.

    A click model with a context writes to it, and perhaps to the features, in every round. These arrays are shared.
    """
    shared = ("context", "features") if hasattr(truth, "context") else ()
    copies = {
        name: value.copy()
        for name, value in truth._asdict().items()
        if isinstance(value, np.ndarray) and name not in shared
    }
    return truth._replace(**copies)


def _loop_calls(module: ModuleType, params: Any, state: Any, rng: np.random.Generator, best: Ints) -> list[KernelCall]:
    """The policy's calls in one round of the loop, with a valid display."""
    display, clicks = best.copy(), np.zeros_like(best)
    return [
        KernelCall(module.choose, (params, state, rng, display)),
        KernelCall(module.update, (params, state, display, clicks)),
    ]


def _run_on_threads(
    job: _RunJob, module: ModuleType, runs: range, threads: int, progress: Progress | None
) -> list[tuple[Floats, float]]:
    job.compile(module)
    cells = _progress_cells(len(runs))
    pool = ThreadPoolExecutor(threads, thread_name_prefix=THREAD_NAMES)
    futures = [pool.submit(job.run, module, run, cell) for run, cell in zip(runs, cells, strict=True)]
    try:
        for _ in _until_done(futures):
            if progress:
                progress(int(cells[:, 0].sum()))
    except BaseException:
        _stop(pool, futures, cells)
        raise
    pool.shutdown()
    return [future.result() for future in futures]


def _stop(pool: ThreadPoolExecutor, futures: Sequence[Future[Any]], cells: Ints) -> None:
    """Cancel the runs. A loop that is running stops at its next checkpoint, or never if a call of the policy hangs."""
    cells[:, 1] = 1
    pool.shutdown(wait=False, cancel_futures=True)
    _, running = wait(futures, timeout=STOP_SECONDS)
    pool.shutdown(wait=not running)


def _run_on_executor(
    job: _RunJob, runs: range, executor: Executor, progress: Progress | None
) -> list[tuple[Floats, float]]:
    # one task per run, because smaller tasks would only add messages
    futures = [executor.submit(_run_in_worker, job, run) for run in runs]
    try:
        for done in _until_done(futures):
            if progress:
                progress(done * int(job.checkpoints[-1]))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def _run_in_worker(job: _RunJob, run: int) -> tuple[Floats, float]:
    """Simulate one run in a worker process. It imports the policy."""
    module = job.policy.load()
    job.compile(module)
    return job.run(module, run, _progress_cells(1)[0])


def _progress_cells(runs: int) -> Ints:
    """For each run: the number of rounds so far, and a flag that stops the run."""
    return np.zeros((runs, 2), np.int64)


def _until_done(futures: Sequence[Future[Any]]) -> Iterator[int]:
    """Yield the number of finished futures several times a second until all are finished. Raise the first error."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.1)
        for future in done:
            future.result()
        yield len(futures) - len(pending)


def _checkpoints(checkpoints: ArrayLike | None, rounds: int) -> Ints:
    if checkpoints is None:
        return log_spaced(rounds)
    points = vector("checkpoints", checkpoints)
    for point in points:
        if integer_at_least("checkpoints", float(point), least=1) > rounds:
            raise BadInput(f"checkpoint {point:g} is after the last round, {rounds}")
    return np.unique(np.append(points, rounds)).astype(np.int64)


def counts_after(
    policy: str | ModuleType,
    model: PBM,
    rounds: int,
    seed: int = 0,
    run: int = 0,
    params: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Realistic counts: those of a policy after one run. Items and positions are in the order of the model."""
    module = find(policy)
    check_model(model)
    check_visitors(module, model)
    if not keeps_counts(module):
        raise BadInput(f"{name_of(module)} keeps no counts")
    points = log_spaced(integer_at_least("rounds", rounds, least=1))
    settings = dict(string_mapping("params", {} if params is None else params))
    job = _RunJob(PolicyReference.of(module), model, settings, points, integer_at_least("seed", seed, least=0), delay=0)
    rngs = generators(job.seed, integer_at_least("run", run, least=0))
    job.compile(module)
    cells = _progress_cells(1)
    pool = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAMES)  # so that an interrupt takes effect
    future = pool.submit(job.run_on, model, module, points, rngs, cells[0])
    try:
        for _ in _until_done([future]):
            if progress:
                progress(int(cells[0, 0]))
    except BaseException:
        _stop(pool, [future], cells)
        raise
    pool.shutdown()
    return Counts.of(future.result()[0].counts)


def check_model(model: Any) -> None:
    """Raise `BadInput` unless this is a click model that can be simulated."""
    if not isinstance(model, ClickModel):
        raise BadInput(f"model = {model!r} is not a click model such as slotwise.PBM(theta=[...], kappa=[...])")
    if model.n_positions > model.n_items:  # possible in a fitted model
        raise BadInput(f"{model.n_positions} positions but only {model.n_items} items: no display is possible")


def check_visitors(policy: ModuleType, model: ClickModel) -> None:
    """Raise `BadInput` if the policy cannot learn from visitors of this click model."""
    problem = problem_with_visitors(policy, model)
    if problem:
        raise BadInput(f"{name_of(policy)} {problem}")
