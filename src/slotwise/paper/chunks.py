"""Chunks: some runs of one policy on one setting, a few seconds of work that is kept or lost as a whole."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from slotwise.jit import cache_folder, source_digest
from slotwise.paper.settings import setting
from slotwise.policies._contract import find, make_params, plain_params
from slotwise.simulation.result import Result
from slotwise.simulation.simulate import Progress, simulate

CHUNK_SECONDS = 2.5
# microseconds per round at N=10, L=5, to cut chunks and to weigh progress; nothing that is reported depends on them
NOMINAL = {"pbm_ts": 3.6, "pbm_pie": 2.4, "pbm_ucb": 0.5, "epsilon_greedy": 1.6, "pmed": 14.0, "uniform": 0.2}
NOMINAL |= {"oracle": 0.2, "bc_mpts": 1.3, "greedy": 1.1, "pb_mhb": 0.4}
PER_SWEEP = 0.65


class Play(msgspec.Struct, frozen=True):
    """All that the numbers of a run depend on, but for the code and the number of the run."""

    policy: str
    params: dict[str, Any]
    setting: str
    rounds: int
    seed: int

    def key(self) -> str:
        """A name for what comes out: the same settings and the same code have the same one."""
        model = setting(self.setting)
        body = {
            "policy": self.policy,
            "params": full_params(self.policy, self.params),
            "theta": model.theta.tolist(),
            "kappa": model.kappa.tolist(),
            "rounds": self.rounds,
            "seed": self.seed,
            "code": code_version(self.policy),
        }
        return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()[:32]

    def microseconds(self) -> float:
        """Roughly what one run takes."""
        model = setting(self.setting)
        size = model.theta.size * model.kappa.size / 50
        sweeps = PER_SWEEP * self.params.get("sweeps", 1) if self.policy == "pb_mhb" else 0.0
        return (NOMINAL.get(self.policy, 2.0) + sweeps) * max(size, 0.3) * self.rounds


class Chunk(NamedTuple):
    """Runs `first` to `first + runs - 1` of a play, and the version of the code that is to play them."""

    play: Play
    first: int
    runs: int
    code: str

    def microseconds(self) -> float:
        """Roughly what it takes."""
        return self.runs * self.play.microseconds()


class Outcome(NamedTuple):
    """The regret of the runs of a chunk at the checkpoints, the seconds of their loops, and the code that played."""

    rounds: list[int]
    regret: list[list[float]]
    seconds: float
    code: str


def full_params(policy: str, params: dict[str, Any]) -> dict[str, Any]:
    """Settings with their defaults, so that leaving one out or saying it makes no difference."""
    module = find(policy)
    return plain_params(module, make_params(module, params, setting("standard").arrays()))


@cache
def code_version(policy: str) -> str:
    """A digest of every source that decides what the policy does in a simulation."""
    return source_digest(find(policy).__name__, "slotwise.simulation.simulate", "slotwise.clickmodels.pbm")


def is_compiled(policy: str) -> bool:
    """Whether the game loop of the policy is in the compile cache."""
    folder = cache_folder("slotwise.simulation.episode", find(policy).__name__, "slotwise.clickmodels.pbm")
    return folder is not None and any(folder.rglob("*.nbi"))


def compile_policies(policies: Iterable[str]) -> None:
    """Compile the game loops of the policies, or find them compiled."""
    for policy in policies:
        simulate(policy, setting("standard"), rounds=1, runs=1, threads=1)


def cut(play: Play, missing: Iterable[int]) -> Iterator[Chunk]:
    """The missing runs as chunks of a few seconds."""
    most = max(1, min(50, int(1e6 * CHUNK_SECONDS / play.microseconds())))
    left = sorted(missing)
    begin = 0
    for k in range(1, len(left) + 1):
        if k == len(left) or left[k] != left[k - 1] + 1 or k - begin == most:
            yield Chunk(play, left[begin], k - begin, code_version(play.policy))
            begin = k


def play_chunk(chunk: Chunk, progress: Progress | None = None) -> Outcome:
    """Play it on one thread, here or in whatever process it was sent to."""
    result: Result = simulate(
        chunk.play.policy,
        setting(chunk.play.setting),
        rounds=chunk.play.rounds,
        runs=chunk.runs,
        seed=chunk.play.seed,
        params=chunk.play.params,
        threads=1,
        progress=progress,
        first_run=chunk.first,
    )
    return Outcome(result.rounds.tolist(), result.regret.tolist(), result.seconds, code_version(chunk.play.policy))
