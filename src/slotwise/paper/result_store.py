"""The store of results: chunks under the key of what they came from, whole or not at all."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.files import load_document, save_document
from slotwise.paper.chunks import Chunk, Outcome, Play, full_params
from slotwise.paper.settings import setting
from slotwise.simulation.result import Result

FORMAT_VERSION = 1


class Kept(NamedTuple):
    """What is kept of a play: the regret of each run, and how long its runs took."""

    rounds: list[int]
    regret: dict[int, list[float]]
    seconds: dict[int, float]


class Store:
    """Results in a folder: one folder below it for each play, one file there for each chunk.

    Several processes may write at once: a file is renamed into place when it is complete, and two files with the same
    runs hold the same numbers.
    """

    def __init__(self, folder: Path, tell: Callable[[str], object] = str) -> None:
        self._folder = folder
        self._tell = tell
        self._kept: dict[str, Kept] = {}

    def kept(self, play: Play) -> dict[int, float]:
        """The runs that have been played, with the seconds that each of them took."""
        return self._of(play).seconds

    def add(self, chunk: Chunk, outcome: Outcome) -> None:
        """Keep a chunk: on the disk first, then in memory."""
        folder = self._folder / chunk.play.key()
        folder.mkdir(parents=True, exist_ok=True)
        inside = _Inside(chunk.play, chunk.first, outcome.rounds, outcome.regret, outcome.seconds)
        path = folder / f"{chunk.first:06d}-{chunk.first + chunk.runs - 1:06d}.json"
        save_document(path, "chunk", FORMAT_VERSION, _Saved(_checksum(inside), inside))
        self._take(self._of(chunk.play), inside)

    def result(self, play: Play, runs: int) -> Result:
        """The first `runs` runs together."""
        kept = self._of(play)
        model = setting(play.setting)
        return Result(
            policy=play.policy,
            params=full_params(play.policy, play.params),
            theta=model.theta,
            kappa=model.kappa,
            seed=play.seed,
            delay=0,
            rounds=np.array(kept.rounds, np.int64),
            regret=np.array([kept.regret[run] for run in range(runs)]),
            seconds=sum(kept.seconds[run] for run in range(runs)),
        )

    def _of(self, play: Play) -> Kept:
        key = play.key()
        if key not in self._kept:
            kept = self._kept[key] = Kept([], {}, {})
            for path in sorted((self._folder / key).glob("[0-9]*.json")):
                inside = self._read(path)
                if inside is not None:
                    self._take(kept, inside)
        return self._kept[key]

    def _read(self, path: Path) -> "_Inside | None":
        """What a file holds; a damaged one counts as not there, and is said to."""
        try:
            saved = load_document(path, "chunk", FORMAT_VERSION, _Saved)
        except BadInput as error:
            self._tell(f"{error}; its runs are played again")
            return None
        if saved.checksum != _checksum(saved.chunk):
            self._tell(f"{str(path)!r} is a damaged slotwise chunk: its checksum is wrong; its runs are played again")
            return None
        return saved.chunk

    @staticmethod
    def _take(kept: Kept, inside: "_Inside") -> None:
        kept.rounds[:] = inside.rounds
        for k, row in enumerate(inside.regret):
            kept.regret[inside.first + k] = row
            kept.seconds[inside.first + k] = inside.seconds / len(inside.regret)


class _Inside(msgspec.Struct):
    play: Play
    first: int
    rounds: list[int]
    regret: list[list[float]]
    seconds: float


class _Saved(msgspec.Struct):
    checksum: str
    chunk: _Inside


def _checksum(inside: _Inside) -> str:
    return hashlib.sha256(msgspec.json.encode(inside)).hexdigest()
