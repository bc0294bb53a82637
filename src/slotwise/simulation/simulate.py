"""Many runs of one policy against one click model, over threads or over any executor."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, mapping, shown, vector, whole
from slotwise.clickmodels.pbm import PBM, Model
from slotwise.counts import Counts
from slotwise.policies._contract import Address, find, keeps_counts, make_params, name_of, plain_params
from slotwise.simulation.episode import episode_of
from slotwise.simulation.result import Result

POINTS_PER_DECADE = 20
Progress = Callable[[int], None]


def simulate(
    policy: str | ModuleType,
    model: PBM,
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
    """Play `runs` independent runs of `rounds` rounds, and return the regret at the checkpoints.

    The policy is a name, the path of a .py file, or a module. Runs go over `threads` (None: all cores), or as
    pickled jobs to `executor`: a process pool, a cluster. The same seed gives the same result either way. A
    click is learnt `delay` rounds late, its display counting as skipped until then. `progress` is called now
    and then with the number of rounds played so far in all runs. Runs are numbered from `first_run` on: run r of a
    seed is the same whatever else is played, so that a long simulation can be played in pieces.
    """
    _check_model(model)
    if executor is not None and not isinstance(executor, Executor):
        raise BadInput(f"executor = {shown(executor)} is not a concurrent.futures.Executor")
    if progress is not None and not callable(progress):
        raise BadInput(f"progress = {shown(progress)} cannot be called")
    module = find(policy)
    start = whole("first_run", first_run, least=0)
    wanted = range(start, start + whole("runs", runs, least=1))
    job = _Job(
        policy=Address.of(module),
        model=model,
        params=dict(mapping("params", {} if params is None else params)),
        checkpoints=_checkpoints(checkpoints, whole("rounds", rounds, least=1)),
        seed=whole("seed", seed, least=0),
        delay=whole("delay", delay, least=0),
    )
    if job.delay and not keeps_counts(module):
        raise BadInput(f"{name_of(module)} keeps no counts, so it cannot learn with a delay of {job.delay} rounds")
    for name, kind in get_type_hints(module.Params).items():
        if kind is Model and name in job.params:
            raise BadInput(f"{name} = {shown(job.params[name])}: a simulation tells the truth by itself, leave it out")
    settings = make_params(module, params, model.arrays())
    if executor is None:
        cores = os.cpu_count() or 1 if threads is None else whole("threads", threads, least=1)
        played = _over_threads(job, module, wanted, cores, progress)
    else:
        played = _over_executor(job, wanted, executor, progress)
    return Result(
        policy=name_of(module),
        params=plain_params(module, settings),
        theta=model.theta,
        kappa=model.kappa,
        seed=job.seed,
        delay=job.delay,
        rounds=job.checkpoints,
        regret=np.array([regret for regret, _ in played]),
        seconds=sum(seconds for _, seconds in played),
    )


def generators(seed: int, run: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The visitors' and the policy's randomness of one run: apart, so that all policies meet the same visitors."""
    visitors, policy = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(2)
    return np.random.default_rng(visitors), np.random.default_rng(policy)


def log_spaced(rounds: int) -> Ints:
    """Checkpoints at a steady pace on a logarithmic axis, every power of ten and the last round among them."""
    decades = np.arange(0.0, np.log10(rounds), 1.0 / POINTS_PER_DECADE)
    return np.unique(np.append(np.rint(10.0**decades), rounds)).astype(np.int64)


@dataclass(frozen=True)
class _Job:
    """All that a run needs, fit to be sent to another process."""

    policy: Address
    model: PBM
    params: dict[str, Any]
    checkpoints: Ints
    seed: int
    delay: int

    def play(self, module: ModuleType, run: int, ticks: Ints) -> tuple[Floats, float]:
        """One run: its regret at the checkpoints, and the seconds its loop took."""
        visitors, rng = generators(self.seed, run)
        _, regret, seconds = self.play_on(module, self.model.shuffled(visitors), self.checkpoints, visitors, rng, ticks)
        return regret, seconds

    def play_on(
        self,
        module: ModuleType,
        model: PBM,
        checkpoints: Ints,
        visitors: np.random.Generator,
        rng: np.random.Generator,
        ticks: Ints,
    ) -> tuple[Any, Floats, float]:
        """The policy's state in the end, its regret at the checkpoints, and the seconds."""
        params = make_params(module, self.params, model.arrays())
        state = module.init(params, model.theta.size, model.kappa.size, rng)
        best, regret = model.best_display(), np.zeros(checkpoints.size)
        clickmodel = sys.modules[type(model.arrays()).__module__]  # of a fitted model too, whose class is elsewhere
        episode = episode_of(module, clickmodel)
        begun = time.thread_time()
        episode(params, state, model.arrays(), best, checkpoints, self.delay, visitors, rng, ticks, regret)
        return state, regret, time.thread_time() - begun

    def compile(self, module: ModuleType) -> None:
        """Play no round at all, so that the time of later runs is theirs alone."""
        try:
            visitors, rng = generators(0, 0)
            self.play_on(module, self.model, np.zeros(1, np.int64), visitors, rng, _ticks(1)[0])
        except Exception as error:  # whatever a policy from outside gets wrong is its author's to read, in one line
            if isinstance(error, BadInput) or module.__name__.startswith("slotwise."):
                raise
            raise BadInput(f"policy {name_of(module)} cannot be compiled: {_gist(error)}") from error


def _gist(error: Exception) -> str:
    """What is wrong, and where: one line of numba's long reports."""
    report = str(error)
    if not isinstance(error, NumbaError):
        return f"{type(error).__name__}: {report}"
    lines = [line.strip() for line in report.splitlines()]
    what = next((line for line in lines if line and not line.startswith(("Failed in", "During", "File", "-"))), report)
    places = re.findall(r'File "([^"]+)", line (\d+)', report)
    return f"{what} ({places[-1][0]}, line {places[-1][1]})" if places else what


def _over_threads(
    job: _Job, module: ModuleType, runs: range, threads: int, progress: Progress | None
) -> list[tuple[Floats, float]]:
    job.compile(module)
    ticks = _ticks(len(runs))
    with ThreadPoolExecutor(threads, thread_name_prefix="slotwise") as pool:
        futures = [pool.submit(job.play, module, run, tick) for run, tick in zip(runs, ticks, strict=True)]
        try:
            for _ in _until_done(futures):
                if progress:
                    progress(int(ticks[:, 0].sum()))
        except BaseException:
            ticks[:, 1] = 1  # runs under way end at their next checkpoint
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _over_executor(job: _Job, runs: range, executor: Executor, progress: Progress | None) -> list[tuple[Floats, float]]:
    # many more chunks than any cluster has workers would only cost messages; one run each is small enough
    futures = [executor.submit(_play_far, job, run) for run in runs]
    try:
        for done in _until_done(futures):
            if progress:
                progress(done * int(job.checkpoints[-1]))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def _play_far(job: _Job, run: int) -> tuple[Floats, float]:
    """One run in another process, which finds the policy by its address."""
    module = job.policy.find()
    job.compile(module)
    return job.play(module, run, _ticks(1)[0])


def _ticks(runs: int) -> Ints:
    """For each run: the rounds played so far, and whether it has to stop."""
    return np.zeros((runs, 2), np.int64)


def _until_done(futures: Sequence[Future[Any]]) -> Iterator[int]:
    """Yield how many are done, several times a second, until all are; fail as soon as one has failed."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.1)
        for future in done:
            future.result()
        yield len(futures) - len(pending)


def _checkpoints(given: ArrayLike | None, rounds: int) -> Ints:
    if given is None:
        return log_spaced(rounds)
    points = vector("checkpoints", given)
    for point in points:
        if whole("checkpoints", float(point), least=1) > rounds:
            raise BadInput(f"checkpoint {point:g} lies beyond the last round, {rounds}")
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
    """What a policy has counted after one run, items and positions in the model's own order: data as they arise."""
    module = find(policy)
    _check_model(model)
    if not keeps_counts(module):
        raise BadInput(f"{name_of(module)} keeps no counts")
    points = log_spaced(whole("rounds", rounds, least=1))
    settings = dict(mapping("params", {} if params is None else params))
    job = _Job(Address.of(module), model, settings, points, whole("seed", seed, least=0), delay=0)
    visitors, rng = generators(job.seed, whole("run", run, least=0))
    job.compile(module)
    ticks = _ticks(1)
    with ThreadPoolExecutor(1, thread_name_prefix="slotwise") as pool:  # so that an interrupt is heard
        future = pool.submit(job.play_on, module, model, points, visitors, rng, ticks[0])
        try:
            for _ in _until_done([future]):
                if progress:
                    progress(int(ticks[0, 0]))
        except BaseException:
            ticks[:, 1] = 1
            raise
    return Counts.of(future.result()[0].counts)


def _check_model(model: Any) -> None:
    if not isinstance(model, PBM):
        raise BadInput(f"model = {model!r} is not a click model such as slotwise.PBM(theta=[...], kappa=[...])")
    if model.kappa.size > model.theta.size:  # a fitted model may be like that
        raise BadInput(f"{model.kappa.size} positions but only {model.theta.size} items: no display can be shown")
