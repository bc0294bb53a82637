"""Rerun the paper: simulate the runs that are missing, measure times, and judge the claims."""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from slotwise.checks import BadInput, integer_at_least
from slotwise.files import load_document, save_document
from slotwise.paper.chunks import Chunk, ChunkResult, is_compiled
from slotwise.paper.claims import judge_claims
from slotwise.paper.claims.claim import Judgement
from slotwise.paper.executor import Workers, compile_ahead, run_chunks
from slotwise.paper.experiments import Experiment, select_experiments
from slotwise.paper.plan import PlannedCurve, choose_c, collect_results, missing_chunks, needed_runs, plan_curves
from slotwise.paper.result_store import ResultStore
from slotwise.paper.results import Results
from slotwise.paper.svd_vs_em import fit_gaps
from slotwise.paper.timing import measure_growth, measure_time, paper_seconds

MARKER_FILE = "slotwise-reproduction.json"  # marks a folder as the output of a reproduction
MARKER_VERSION = 1


class ProgressListener(Protocol):
    """Receives the progress of a reproduction. Work is in estimated microseconds."""

    def warn(self, message: str) -> object: ...

    def status(self, activity: str) -> None: ...

    def expect(self, experiment: str, work: float) -> None:
        """Announce that the experiment has `work` more to do."""

    def advance(self, experiment: str, work: float) -> None:
        """Report that `work` of the experiment is done."""


class SilentListener:
    """Ignores all progress."""

    def warn(self, message: str) -> None:
        pass

    def status(self, activity: str) -> None:
        pass

    def expect(self, experiment: str, work: float) -> None:
        pass

    def advance(self, experiment: str, work: float) -> None:
        pass


class Scope(NamedTuple):
    """Which experiments run, with which seed, and how many runs they have.

    By default, all experiments have as many runs as in the paper.
    """

    only: Iterable[str] | None = None
    quick: bool = False
    seed: int = 0
    runs: int | None = None


@dataclass
class ExperimentCost:
    """The rounds and CPU seconds of an experiment. Fields that end in `_now` count this call only."""

    rounds: int = 0
    seconds: float = 0.0
    rounds_now: int = 0
    seconds_now: float = 0.0


@dataclass
class Reproduction:
    """The results, judgements and costs of a reproduction."""

    experiments: list[Experiment]
    scope: Scope
    results: Results
    judgements: list[Judgement] = field(default_factory=list)
    costs: dict[str, ExperimentCost] = field(default_factory=dict)
    wall_seconds: float = 0.0  # of this call, without drawing
    chunks_now: int = 0
    paper_seconds: float = 0.0  # the time of the same rounds at the speed of the paper's table


def reproduce(
    out: str | os.PathLike[str],
    scope: Scope = Scope(),  # noqa: B008 - immutable
    workers: Workers = Workers(),  # noqa: B008 - immutable
    listener: ProgressListener | None = None,
) -> Reproduction:
    """Simulate and measure what the experiments need, and judge the claims. Results that `out` holds are reused."""
    listener = listener or SilentListener()
    start = time.monotonic()
    if scope.runs is not None:
        integer_at_least("runs", scope.runs, least=2)
    experiments = select_experiments(scope.only, scope.quick, scope.runs)
    integer_at_least("seed", scope.seed, least=0)
    folder = prepare_folder(out)
    store = ResultStore(folder / "results", listener.warn)
    costs = {experiment.name: ExperimentCost() for experiment in experiments}
    reproduction = Reproduction(experiments, scope, Results(), costs=costs)
    _simulate(reproduction, store, workers, listener)
    _measure_times(reproduction, folder, listener)
    reproduction.judgements = judge_claims(experiments, reproduction.results)
    reproduction.wall_seconds = time.monotonic() - start
    return reproduction


def prepare_folder(out: str | os.PathLike[str]) -> Path:
    """Create the output folder. An existing folder must be empty or hold an earlier reproduction."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        has_files = any(folder.iterdir())
    except OSError as error:
        raise BadInput(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    if has_files:
        try:
            load_document(folder / MARKER_FILE, "reproduction", MARKER_VERSION, _FolderMarker)
        except BadInput:
            raise BadInput(
                f"{str(folder)!r} holds files of something else; "
                "name a folder that is new, empty or of an earlier reproduction"
            ) from None
    else:
        save_document(folder / MARKER_FILE, "reproduction", MARKER_VERSION, _FolderMarker())
    return folder


class _FolderMarker(msgspec.Struct):
    """An empty document, because only the presence of the file matters."""


def _simulate(reproduction: Reproduction, store: ResultStore, workers: Workers, listener: ProgressListener) -> None:
    """Run all missing chunks in two passes. The second pass runs the contenders whose best c the first pass found."""
    experiments, results, seed = reproduction.experiments, reproduction.results, reproduction.scope.seed
    with workers.executor() as executor, ThreadPoolExecutor(1) as background:
        # at the same time as the chunks, because the estimators first take a quarter of a minute to compile
        fits = background.submit(fit_gaps, seed) if any(experiment.fits for experiment in experiments) else None
        for _ in range(2):
            curves = list(plan_curves(experiments, seed, results.chosen_c))
            missing = missing_chunks(curves, store)
            if workers.dask is None:
                _compile([chunk.config.policy for _, chunk in missing], workers.threads, listener)
            _run_missing(reproduction, missing, store, executor, listener)
            collect_results(results, experiments, curves, store)
            choose_c(results, experiments)
        results.fits = fits.result() if fits else []
    _add_stored_costs(reproduction, curves, store)


def _compile(policies: list[str], jobs: int, listener: ProgressListener) -> None:
    if any(not is_compiled(policy) for policy in policies):
        listener.status("compiling (first time only)")
        compile_ahead(policies, jobs)


def _run_missing(
    reproduction: Reproduction,
    missing: list[tuple[str, Chunk]],
    store: ResultStore,
    executor: Executor,
    listener: ProgressListener,
) -> None:
    experiment_of = {_chunk_id(chunk): experiment for experiment, chunk in missing}
    for experiment, chunk in missing:
        listener.expect(experiment, chunk.microseconds())

    def on_done(chunk: Chunk, result: ChunkResult) -> None:
        experiment = experiment_of[_chunk_id(chunk)]
        store.add(chunk, result)
        reproduction.chunks_now += 1
        reproduction.costs[experiment].rounds_now += chunk.runs * chunk.config.rounds
        reproduction.costs[experiment].seconds_now += result.seconds
        listener.advance(experiment, chunk.microseconds())

    listener.status("simulating")
    run_chunks([chunk for _, chunk in missing], executor, on_done)


def _chunk_id(chunk: Chunk) -> str:
    return f"{chunk.config.key()} {chunk.first}"


def _add_stored_costs(reproduction: Reproduction, curves: Sequence[PlannedCurve], store: ResultStore) -> None:
    for experiment, config, runs in needed_runs(curves):
        seconds = store.run_seconds(config)
        reproduction.costs[experiment].rounds += len(runs) * config.rounds
        reproduction.costs[experiment].seconds += sum(seconds[run] for run in runs)
        reproduction.paper_seconds += len(runs) * paper_seconds(config)


def _measure_times(reproduction: Reproduction, folder: Path, listener: ProgressListener) -> None:
    """Measure times after all simulations have finished, so that nothing else runs at the same time."""
    results, experiments, seed = reproduction.results, reproduction.experiments, reproduction.scope.seed
    listener.status("measuring times")
    for experiment in experiments:
        listener.expect(experiment.name, 2e6 * (len(experiment.timed_policies) + 5 * experiment.growth))
    for experiment in experiments:
        start = time.process_time()
        for timed in experiment.timed_policies:
            key = (experiment.name, timed.contender.label)
            results.times[key] = measure_time(timed, folder / "times", seed)
            listener.advance(experiment.name, 2e6)
        if experiment.growth:
            results.growth = measure_growth(folder / "times", seed)
            listener.advance(experiment.name, 1e7)
        seconds = time.process_time() - start
        reproduction.costs[experiment.name].seconds_now += seconds
        reproduction.costs[experiment.name].seconds += seconds
