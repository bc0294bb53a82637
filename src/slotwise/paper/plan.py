"""From experiments to what has to be played for them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from slotwise.paper.chunks import Chunk, Play, cut
from slotwise.paper.experiments import BEST, POOLED, Experiment
from slotwise.paper.result_store import Store
from slotwise.paper.results import Evidence, panels, pooled

Choices = Mapping[tuple[str, str], float]  # the best c, by experiment and setting


class Wanted(NamedTuple):
    """One curve of one experiment: the play behind it and how many of its runs."""

    experiment: str
    plays: str
    setting: str
    label: str
    play: Play
    runs: int


def wanted(experiments: Iterable[Experiment], seed: int, choices: Choices) -> Iterator[Wanted]:
    """All that the experiments need, but for contenders whose best c has not been chosen yet."""
    for experiment in experiments:
        for name, plays in experiment.plays.items():
            for setting in plays.settings:
                for contender in plays.contenders:
                    params = dict(contender.params)
                    if params.get("c") == BEST:
                        where = (experiment.name, POOLED if plays.pooled else setting)
                        if where not in choices:
                            continue
                        params["c"] = choices[where]
                    play = Play(contender.policy, params, setting, plays.rounds, seed + plays.seed_shift)
                    yield Wanted(experiment.name, name, setting, contender.label, play, plays.runs)


def shares(items: Iterable[Wanted]) -> Iterator[tuple[str, Play, range]]:
    """Every run once, under the first experiment that wants it: one that wants more runs only adds to them."""
    taken: dict[str, int] = {}
    for item in items:
        key = item.play.key()
        if item.runs > taken.get(key, 0):
            yield item.experiment, item.play, range(taken.get(key, 0), item.runs)
            taken[key] = item.runs


def missing(items: Iterable[Wanted], store: Store) -> list[tuple[str, Chunk]]:
    """What is not in the store yet, as chunks, each with the experiment that it is played for."""
    return [
        (experiment, chunk)
        for experiment, play, runs in shares(items)
        for chunk in cut(play, set(runs) - store.kept(play).keys())
    ]


def gather(evidence: Evidence, experiments: Iterable[Experiment], items: Iterable[Wanted], store: Store) -> None:
    """Put what the store has into the evidence, pooled where the experiment pools."""
    for item in items:
        where = (item.experiment, item.plays, item.setting, item.label)
        evidence.results[where] = store.result(item.play, item.runs)
    for experiment in experiments:
        for name, plays in experiment.plays.items():
            if plays.pooled:
                _pool(evidence, experiment.name, name, plays.settings)


def choose(evidence: Evidence, experiments: Iterable[Experiment]) -> None:
    """The best c of every tuning."""
    for experiment in experiments:
        if "tuning" in experiment.plays:
            for setting in panels(experiment.plays["tuning"]):
                evidence.choices[experiment.name, setting] = evidence.best(experiment.name, setting)


def _pool(evidence: Evidence, experiment: str, plays: str, settings: tuple[str, ...]) -> None:
    for label in evidence.panel(experiment, settings[0], plays):
        results = [evidence.result(experiment, setting, label, plays) for setting in settings]
        evidence.results[experiment, plays, POOLED, label] = pooled(results)
