"""Chunks: a chunk is a few runs of one policy on one setting. It takes a few seconds and is stored as a unit."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from slotwise.jit import cache_folder, source_digest
from slotwise.paper.named_click_models import setting
from slotwise.policies._policy_module import find, make_params, plain_params
from slotwise.simulation.result import Result
from slotwise.simulation.simulate import Progress, simulate

CHUNK_SECONDS = 2.5
# Microseconds per round at N=10, L=5. They only size the chunks and weight the progress bar; no result depends on them.
NOMINAL = {"pbm_ts": 3.6, "pbm_pie": 2.4, "pbm_ucb": 0.5, "epsilon_greedy": 1.6, "pmed": 14.0, "uniform": 0.2}
NOMINAL |= {"oracle": 0.2, "bc_mpts": 1.3, "greedy": 1.1, "pb_mhb": 0.4}
PER_SWEEP = 0.65
MAX_CHUNK_RUNS = 50


class RunConfig(msgspec.Struct, frozen=True):
    """All that the numbers of a run depend on, except the code and the index of the run."""

    policy: str
    params: dict[str, Any]
    setting: str
    rounds: int
    seed: int

    def key(self) -> str:
        """A digest of this configuration and of the code. Equal keys mean equal results."""
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
        """A rough estimate of the time of one run."""
        model = setting(self.setting)
        size = model.theta.size * model.kappa.size / 50
        sweeps = PER_SWEEP * self.params.get("sweeps", 1) if self.policy == "pb_mhb" else 0.0
        return (NOMINAL.get(self.policy, 2.0) + sweeps) * max(size, 0.3) * self.rounds


class Chunk(NamedTuple):
    """Runs `first` to `first + runs - 1` of a configuration, and the version of the code that must run them."""

    config: RunConfig
    first: int
    runs: int
    code: str

    def microseconds(self) -> float:
        """A rough estimate of the time of the chunk."""
        return self.runs * self.config.microseconds()


class ChunkResult(NamedTuple):
    """The regret of the runs of a chunk at each checkpoint, the time of their loops, and the version of the code."""

    rounds: list[int]
    regret: list[list[float]]
    seconds: float
    code: str


def full_params(policy: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with their defaults, so that an omitted parameter and its default give the same key."""
    module = find(policy)
    return plain_params(module, make_params(module, params, setting("standard").arrays()))


@cache
def code_version(policy: str) -> str:
    """A digest of all source files that a simulation of the policy depends on."""
    return source_digest(find(policy).__name__, "slotwise.simulation.simulate", "slotwise.clickmodels.pbm")


def is_compiled(policy: str) -> bool:
    """Whether the simulation loop of the policy is in the compile cache."""
    folder = cache_folder("slotwise.simulation.simulation_loop", find(policy).__name__, "slotwise.clickmodels.pbm")
    return folder is not None and any(folder.rglob("*.nbi"))


def compile_policies(policies: Iterable[str]) -> None:
    """Compile the simulation loops of the policies, unless they are cached."""
    for policy in policies:
        simulate(policy, setting("standard"), rounds=1, runs=1, threads=1)


def split_into_chunks(config: RunConfig, runs: Iterable[int]) -> Iterator[Chunk]:
    """Split runs into chunks of a few seconds. The runs of a chunk are consecutive."""
    max_runs = max(1, min(MAX_CHUNK_RUNS, int(1e6 * CHUNK_SECONDS / config.microseconds())))
    ordered = sorted(runs)
    begin = 0
    for k in range(1, len(ordered) + 1):
        if k == len(ordered) or ordered[k] != ordered[k - 1] + 1 or k - begin == max_runs:
            yield Chunk(config, ordered[begin], k - begin, code_version(config.policy))
            begin = k


def run_chunk(chunk: Chunk, progress: Progress | None = None) -> ChunkResult:
    """Simulate the runs of a chunk on one thread. Worker processes call this too."""
    config = chunk.config
    result: Result = simulate(
        config.policy,
        setting(config.setting),
        rounds=config.rounds,
        runs=chunk.runs,
        seed=config.seed,
        params=config.params,
        threads=1,
        progress=progress,
        first_run=chunk.first,
    )
    return ChunkResult(result.rounds.tolist(), result.regret.tolist(), result.seconds, code_version(config.policy))
