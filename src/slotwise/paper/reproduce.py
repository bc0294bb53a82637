"""The whole paper rerun, drawn and judged: what is missing is played, everything is written anew."""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from slotwise.checks import BadInput, whole
from slotwise.files import load_document, save_document
from slotwise.paper.chunks import Chunk, Outcome, is_compiled
from slotwise.paper.claims import judged
from slotwise.paper.claims.claim import Judgement
from slotwise.paper.executor import compile_ahead, cores, play_all, workers
from slotwise.paper.experiments import Experiment, chosen
from slotwise.paper.plan import Wanted, choose, gather, missing, shares, wanted
from slotwise.paper.result_store import Store
from slotwise.paper.results import Evidence
from slotwise.paper.svd_vs_em import fit_gaps
from slotwise.paper.timing import growth, paper_seconds, time_of

MARK = "slotwise-reproduction.json"
MARK_VERSION = 1


class Watcher(Protocol):
    """Somebody who is told how far things are."""

    def say(self, line: str) -> object:
        """Something worth knowing."""

    def status(self, line: str) -> None:
        """What is being done now."""

    def expect(self, experiment: str, work: float) -> None:
        """So much is to be done for an experiment, in microseconds or so."""

    def advance(self, experiment: str, work: float) -> None:
        """So much of it is done."""


class Silent:
    """Nobody watches."""

    def say(self, line: str) -> None:
        """Said to nobody."""

    def status(self, line: str) -> None:
        """Told to nobody."""

    def expect(self, experiment: str, work: float) -> None:
        """Told to nobody."""

    def advance(self, experiment: str, work: float) -> None:
        """Told to nobody."""


@dataclass
class Spent:
    """What an experiment cost: rounds and processor seconds in all, and those of them that were played now."""

    rounds: int = 0
    seconds: float = 0.0
    rounds_now: int = 0
    seconds_now: float = 0.0


@dataclass
class Reproduction:
    """Everything that came out."""

    experiments: list[Experiment]
    seed: int
    quick: bool
    runs: int | None
    evidence: Evidence
    judgements: list[Judgement] = field(default_factory=list)
    spent: dict[str, Spent] = field(default_factory=dict)
    wall_seconds: float = 0.0  # of playing and measuring, this time
    chunks_now: int = 0
    paper_seconds: float = 0.0  # what the same rounds would take at the paper's times


def reproduce(
    out: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    dask: str | None = None,
    runs: int | None = None,
    watcher: Watcher | None = None,
) -> Reproduction:
    """Play and measure what the experiments need and `out` does not hold yet, and judge the claims."""
    watch = watcher or Silent()
    begun = time.monotonic()
    if runs is not None:
        whole("runs", runs, least=2)
    experiments = chosen(only, quick, runs)
    whole("seed", seed, least=0)
    folder = prepare(out)
    store = Store(folder / "results", watch.say)
    found = Reproduction(experiments, seed, quick, runs, Evidence())
    found.spent = {experiment.name: Spent() for experiment in experiments}
    _play(found, store, jobs, dask, watch)
    _measure(found, folder, watch)
    found.judgements = judged(experiments, found.evidence)
    found.wall_seconds = time.monotonic() - begun
    return found


def prepare(out: str | os.PathLike[str]) -> Path:
    """The folder to write into: a new one, an empty one, or that of an earlier reproduction."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = any(folder.iterdir())
    except OSError as error:
        raise BadInput(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    if content:
        try:
            load_document(folder / MARK, "reproduction", MARK_VERSION, _Mark)
        except BadInput:
            told = f"{str(folder)!r} holds files of something else"
            raise BadInput(f"{told}; name a folder that is new, empty or of an earlier reproduction") from None
    else:
        save_document(folder / MARK, "reproduction", MARK_VERSION, _Mark())
    return folder


class _Mark(msgspec.Struct):
    """Nothing but its presence matters."""


def _play(found: Reproduction, store: Store, jobs: int | None, dask: str | None, watch: Watcher) -> None:
    """First all that needs no choice, then the contenders whose best c that has shown."""
    with workers(jobs, dask) as executor, ThreadPoolExecutor(1) as aside:
        # beside the chunks, since the estimators take a quarter of a minute to compile, the first time
        fits = aside.submit(fit_gaps, found.seed) if any(one.fits for one in found.experiments) else None
        for _ in range(2):
            items = list(wanted(found.experiments, found.seed, found.evidence.choices))
            todo = missing(items, store)
            if dask is None:
                _compile(todo, cores(jobs), watch)
            reasons = {_name(chunk): experiment for experiment, chunk in todo}
            for experiment, chunk in todo:
                watch.expect(experiment, chunk.microseconds())

            def done(chunk: Chunk, outcome: Outcome, reasons: dict[str, str] = reasons) -> None:
                experiment = reasons[_name(chunk)]
                store.add(chunk, outcome)
                found.chunks_now += 1
                found.spent[experiment].rounds_now += chunk.runs * chunk.play.rounds
                found.spent[experiment].seconds_now += outcome.seconds
                watch.advance(experiment, chunk.microseconds())

            watch.status("playing")
            play_all([chunk for _, chunk in todo], executor, done)
            gather(found.evidence, found.experiments, items, store)
            choose(found.evidence, found.experiments)
        found.evidence.fits = fits.result() if fits else []
    _account(found, items, store)


def _compile(todo: list[tuple[str, Chunk]], jobs: int, watch: Watcher) -> None:
    policies = [chunk.play.policy for _, chunk in todo]
    if any(not is_compiled(policy) for policy in policies):
        watch.status("compiling, once")
        compile_ahead(policies, jobs)


def _name(chunk: Chunk) -> str:
    return f"{chunk.play.key()} {chunk.first}"


def _account(found: Reproduction, items: Sequence[Wanted], store: Store) -> None:
    for experiment, play, runs in shares(items):
        seconds = store.kept(play)
        found.spent[experiment].rounds += len(runs) * play.rounds
        found.spent[experiment].seconds += sum(seconds[run] for run in runs)
        found.paper_seconds += len(runs) * paper_seconds(play)


def _measure(found: Reproduction, folder: Path, watch: Watcher) -> None:
    """Times, alone: nothing else runs any more."""
    evidence = found.evidence
    watch.status("measuring times")
    work = {experiment.name: 2e6 * (len(experiment.timed) + 5 * experiment.growth) for experiment in found.experiments}
    for name, microseconds in work.items():
        watch.expect(name, microseconds)
    for experiment in found.experiments:
        begun = time.process_time()
        for row in experiment.timed:
            where = (experiment.name, row.contender.label)
            evidence.times[where] = time_of(row, folder / "times", found.seed)
            watch.advance(experiment.name, 2e6)
        if experiment.growth:
            evidence.growth = growth(folder / "times", found.seed)
            watch.advance(experiment.name, 1e7)
        spent = time.process_time() - begun
        found.spent[experiment.name].seconds_now += spent
        found.spent[experiment.name].seconds += spent
