"""ResultStore: the results of chunks on disk. They are found by the key of their configuration."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.files import load_document, save_document
from slotwise.paper.chunks import Chunk, ChunkResult, RunConfig, full_params
from slotwise.paper.named_click_models import setting
from slotwise.simulation.result import Result

FORMAT_VERSION = 2


class StoredRuns(NamedTuple):
    """The stored runs of a configuration: the regret of each run at the checkpoints, and its time."""

    rounds: list[int]
    regret: dict[int, list[float]]
    seconds: dict[int, float]


class ResultStore:
    """A folder with one subfolder per configuration and one file per chunk.

    Several processes may write at the same time. A file is renamed into place when it is complete, and two files with
    the same runs hold the same numbers.
    """

    def __init__(self, folder: Path, warn: Callable[[str], object] = str) -> None:
        self._folder = folder
        self._warn = warn
        self._runs: dict[str, StoredRuns] = {}

    def run_seconds(self, config: RunConfig) -> dict[int, float]:
        """The stored runs, each with its time in seconds."""
        return self._stored_runs(config).seconds

    def add(self, chunk: Chunk, result: ChunkResult) -> None:
        """Store a chunk, first on disk and then in memory."""
        folder = self._folder / chunk.config.key()
        folder.mkdir(parents=True, exist_ok=True)
        content = _ChunkContent(chunk.config, chunk.first, result.rounds, result.regret, result.seconds)
        path = folder / f"{chunk.first:06d}-{chunk.first + chunk.runs - 1:06d}.json"
        save_document(path, "chunk", FORMAT_VERSION, _SavedChunk(_checksum(content), content))
        self._add_runs(self._stored_runs(chunk.config), content)

    def result(self, config: RunConfig, runs: int) -> Result:
        """The first `runs` runs as one result."""
        stored = self._stored_runs(config)
        return Result(
            policy=config.policy,
            params=full_params(config.policy, config.params),
            visitors=setting(config.setting),
            seed=config.seed,
            delay=0,
            rounds=np.array(stored.rounds, np.int64),
            regret=np.array([stored.regret[run] for run in range(runs)]),
            seconds=sum(stored.seconds[run] for run in range(runs)),
        )

    def _stored_runs(self, config: RunConfig) -> StoredRuns:
        key = config.key()
        if key not in self._runs:
            stored = self._runs[key] = StoredRuns([], {}, {})
            for path in sorted((self._folder / key).glob("[0-9]*.json")):
                content = self._read(path)
                if content is not None:
                    self._add_runs(stored, content)
        return self._runs[key]

    def _read(self, path: Path) -> "_ChunkContent | None":
        """The content of a file. A damaged file causes a warning and counts as missing."""
        try:
            saved = load_document(path, "chunk", FORMAT_VERSION, _SavedChunk)
        except BadInput as error:
            self._warn(f"{error}; its runs are repeated")
            return None
        if saved.checksum != _checksum(saved.chunk):
            self._warn(f"{str(path)!r} is a damaged slotwise chunk: its checksum is wrong; its runs are repeated")
            return None
        return saved.chunk

    @staticmethod
    def _add_runs(stored: StoredRuns, content: "_ChunkContent") -> None:
        stored.rounds[:] = content.rounds
        for k, row in enumerate(content.regret):
            stored.regret[content.first + k] = row
            stored.seconds[content.first + k] = content.seconds / len(content.regret)


class _ChunkContent(msgspec.Struct):
    config: RunConfig
    first: int
    rounds: list[int]
    regret: list[list[float]]
    seconds: float


class _SavedChunk(msgspec.Struct):
    checksum: str
    chunk: _ChunkContent


def _checksum(content: _ChunkContent) -> str:
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
