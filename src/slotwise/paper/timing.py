"""Measure times per round on one thread. They are the only results that differ between two reproductions."""

import hashlib
import platform
from pathlib import Path

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.clickmodels.pbm import PBM
from slotwise.files import load_document, save_document
from slotwise.jit import source_digest
from slotwise.paper.chunks import RunConfig, code_version, full_params
from slotwise.paper.experiments import EXPERIMENTS, TimedPolicy
from slotwise.paper.named_click_models import setting
from slotwise.simulation.simulate import simulate

FORMAT_VERSION = 1
REPEATS = 3
GROWTH_GRID = [(n, positions, m) for n in (10, 20, 40) for positions in (3, 5, 10) for m in (1, 3, 10)]
GROWTH_ROUNDS = 3000


class MeasuredTime(msgspec.Struct):
    """The seconds of a few runs of `rounds` rounds each."""

    rounds: int
    seconds: list[float]

    @property
    def milliseconds(self) -> float:
        """Milliseconds per round, as the median over the runs."""
        return 1e3 * float(np.median(self.seconds)) / self.rounds

    @property
    def spread(self) -> tuple[float, float]:
        """Milliseconds per round of the fastest and of the slowest run."""
        return 1e3 * min(self.seconds) / self.rounds, 1e3 * max(self.seconds) / self.rounds


class GrowthPoint(msgspec.Struct):
    """Milliseconds per round of PB-MHB with N items, L positions and m sweeps."""

    items: int
    positions: int
    sweeps: int
    milliseconds: float

    @property
    def steps(self) -> int:
        """Random-walk steps per round, which is the paper's measure of cost."""
        return self.sweeps * (self.items + self.positions - 1)


class _SavedGrowth(msgspec.Struct):
    points: list[GrowthPoint]


def paper_seconds(config: RunConfig) -> float:
    """The time of a run at the speed of the paper's table, or 0 if the policy is not in the table.

    The time of PB-MHB scales with its sweeps.
    """
    kappa, sweeps = config.params.get("kappa"), config.params.get("sweeps", 1)
    rows = [row for row in EXPERIMENTS["tab-time"].timed_policies if row.contender.policy == config.policy]
    rows = [row for row in rows if row.contender.params.get("kappa") == kappa]
    exact = [row for row in rows if row.contender.params.get("sweeps", 1) == sweeps]
    if exact:
        return 1e-3 * (exact[0].paper_milliseconds or 0.0) * config.rounds
    return 1e-3 * (rows[0].paper_milliseconds or 0.0) * sweeps * config.rounds if rows else 0.0


def measure_time(timed: TimedPolicy, folder: Path, seed: int) -> MeasuredTime:
    """The time of a policy on the standard setting. An earlier measurement is read from `folder`."""
    policy, params = timed.contender.policy, timed.contender.params
    path = _path(folder, [policy, full_params(policy, params), timed.rounds, seed, code_version(policy), _machine()])
    try:
        return load_document(path, "time", FORMAT_VERSION, MeasuredTime)
    except BadInput:  # missing or damaged
        runs = range(REPEATS)
        seconds = [_seconds(policy, setting("standard"), timed.rounds, params, seed, first=k) for k in runs]
        time = MeasuredTime(timed.rounds, seconds)
        save_document(path, "time", FORMAT_VERSION, time)
        return time


def measure_growth(folder: Path, seed: int) -> list[GrowthPoint]:
    """The time of PB-MHB over a grid of sizes. An earlier measurement is read from `folder`."""
    this_module = source_digest("slotwise.paper.timing")
    path = _path(folder, ["growth", GROWTH_GRID, GROWTH_ROUNDS, seed, code_version("pb_mhb"), this_module, _machine()])
    try:
        return load_document(path, "growth", FORMAT_VERSION, _SavedGrowth).points
    except BadInput:
        points = []
        for n, positions, sweeps in GROWTH_GRID:
            model = PBM(np.linspace(0.3, 0.01, n), 1.0 / np.arange(1, positions + 1))
            seconds = _seconds("pb_mhb", model, GROWTH_ROUNDS, {"sweeps": sweeps}, seed)
            points.append(GrowthPoint(n, positions, sweeps, 1e3 * seconds / GROWTH_ROUNDS))
        save_document(path, "growth", FORMAT_VERSION, _SavedGrowth(points))
        return points


def _seconds(policy: str, model: PBM, rounds: int, params: dict[str, object], seed: int, first: int = 0) -> float:
    return simulate(policy, model, rounds, runs=1, seed=seed, params=params, threads=1, first_run=first).seconds


def _machine() -> str:
    return f"{platform.machine()} {platform.python_version()}"


def _path(folder: Path, key: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{hashlib.sha256(msgspec.json.encode(key, order='sorted')).hexdigest()[:32]}.json"
