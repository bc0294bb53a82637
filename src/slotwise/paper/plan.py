"""The plan: which runs the experiments need, and which of these runs are missing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from slotwise.paper.chunks import Chunk, RunConfig, split_into_chunks
from slotwise.paper.experiments import BEST, POOLED, Experiment
from slotwise.paper.result_store import ResultStore
from slotwise.paper.results import Results, panels, pool

ChosenC = Mapping[tuple[str, str], float]  # (experiment, setting) -> the best c


class PlannedCurve(NamedTuple):
    """One curve of one experiment: the configuration of its runs and their number."""

    experiment: str
    run_set: str
    setting: str
    label: str
    config: RunConfig
    runs: int


class NeededRuns(NamedTuple):
    """Runs of a configuration, and the first experiment that needs them."""

    experiment: str
    config: RunConfig
    runs: range


def plan_curves(experiments: Iterable[Experiment], seed: int, chosen_c: ChosenC) -> Iterator[PlannedCurve]:
    """All curves of the experiments, except those of contenders whose best c is not chosen yet."""
    for experiment in experiments:
        for name, run_set in experiment.run_sets.items():
            for setting in run_set.settings:
                for contender in run_set.contenders:
                    params = dict(contender.params)
                    if params.get("c") == BEST:
                        tuning = (experiment.name, POOLED if run_set.pooled else setting)
                        if tuning not in chosen_c:
                            continue
                        params["c"] = chosen_c[tuning]
                    config = RunConfig(contender.policy, params, setting, run_set.rounds, seed + run_set.seed_shift)
                    yield PlannedCurve(experiment.name, name, setting, contender.label, config, run_set.runs)


def needed_runs(curves: Iterable[PlannedCurve]) -> Iterator[NeededRuns]:
    """List every run once.

    If a later experiment needs more runs of a configuration, only the additional runs are listed for it.
    """
    planned: dict[str, int] = {}
    for curve in curves:
        key = curve.config.key()
        if curve.runs > planned.get(key, 0):
            yield NeededRuns(curve.experiment, curve.config, range(planned.get(key, 0), curve.runs))
            planned[key] = curve.runs


def missing_chunks(curves: Iterable[PlannedCurve], store: ResultStore) -> list[tuple[str, Chunk]]:
    """The chunks that are not in the store, each with the experiment that needs it."""
    return [
        (experiment, chunk)
        for experiment, config, runs in needed_runs(curves)
        for chunk in split_into_chunks(config, set(runs) - store.run_seconds(config).keys())
    ]


def collect_results(
    results: Results, experiments: Iterable[Experiment], curves: Iterable[PlannedCurve], store: ResultStore
) -> None:
    """Copy the stored runs into the results, and pool settings if the run set says so."""
    for curve in curves:
        key = (curve.experiment, curve.run_set, curve.setting, curve.label)
        results.simulations[key] = store.result(curve.config, curve.runs)
    for experiment in experiments:
        for name, run_set in experiment.run_sets.items():
            if run_set.pooled:
                _pool_settings(results, experiment.name, name, run_set.settings)


def choose_c(results: Results, experiments: Iterable[Experiment]) -> None:
    """Choose the best c of ε-greedy from the tuning runs."""
    for experiment in experiments:
        if "tuning" in experiment.run_sets:
            for setting in panels(experiment.run_sets["tuning"]):
                results.chosen_c[experiment.name, setting] = results.best_c(experiment.name, setting)


def _pool_settings(results: Results, experiment: str, run_set: str, settings: tuple[str, ...]) -> None:
    for label in results.panel(experiment, settings[0], run_set):
        simulations = [results.result(experiment, setting, label, run_set) for setting in settings]
        results.simulations[experiment, run_set, POOLED, label] = pool(simulations)
