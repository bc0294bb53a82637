"""Times, measured alone and on one thread: the only part of a reproduction that differs from one to the next."""

import hashlib
import platform
from pathlib import Path

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.clickmodels.pbm import PBM
from slotwise.files import load_document, save_document
from slotwise.jit import source_digest
from slotwise.paper.chunks import Play, code_version, full_params
from slotwise.paper.experiments import EXPERIMENTS, Timed
from slotwise.paper.settings import setting
from slotwise.simulation.simulate import simulate

FORMAT_VERSION = 1
REPEATS = 3
GROWTH_GRID = [(n, positions, m) for n in (10, 20, 40) for positions in (3, 5, 10) for m in (1, 3, 10)]
GROWTH_ROUNDS = 3000


class Time(msgspec.Struct):
    """Seconds of each of a few runs, and how many rounds a run had."""

    rounds: int
    seconds: list[float]

    @property
    def milliseconds(self) -> float:
        """Per round, in the middle one of the runs."""
        return 1e3 * float(np.median(self.seconds)) / self.rounds

    @property
    def spread(self) -> tuple[float, float]:
        """Per round, in the fastest and in the slowest run."""
        return 1e3 * min(self.seconds) / self.rounds, 1e3 * max(self.seconds) / self.rounds


class Growth(msgspec.Struct):
    """Milliseconds per round of PB-MHB with N items, L positions and m sweeps."""

    items: int
    positions: int
    sweeps: int
    milliseconds: float

    @property
    def steps(self) -> int:
        """Random-walk steps per round, by which the paper counts the cost."""
        return self.sweeps * (self.items + self.positions - 1)


class Growths(msgspec.Struct):
    """The whole grid."""

    points: list[Growth]


def paper_seconds(play: Play) -> float:
    """What a run would take at the times of the paper's table, PB-MHB's by its sweeps; 0 for what is not in it."""
    kappa, sweeps = play.params.get("kappa"), play.params.get("sweeps", 1)
    rows = [row for row in EXPERIMENTS["tab-time"].timed if row.contender.policy == play.policy]
    rows = [row for row in rows if row.contender.params.get("kappa") == kappa]
    exact = [row for row in rows if row.contender.params.get("sweeps", 1) == sweeps]
    if exact:
        return 1e-3 * (exact[0].paper_milliseconds or 0.0) * play.rounds
    return 1e-3 * (rows[0].paper_milliseconds or 0.0) * sweeps * play.rounds if rows else 0.0


def time_of(row: Timed, folder: Path, seed: int) -> Time:
    """The time of a policy on the standard setting, as measured before or measured now."""
    policy, params = row.contender.policy, row.contender.params
    told = [policy, full_params(policy, params), row.rounds, seed, code_version(policy), _machine()]
    path = _path(folder, told)
    try:
        return load_document(path, "time", FORMAT_VERSION, Time)
    except BadInput:  # not there, or not to be used
        runs = range(REPEATS)
        seconds = [_seconds(policy, setting("standard"), row.rounds, params, seed, first=k) for k in runs]
        time = Time(row.rounds, seconds)
        save_document(path, "time", FORMAT_VERSION, time)
        return time


def growth(folder: Path, seed: int) -> list[Growth]:
    """The time of PB-MHB over a grid of sizes, as measured before or measured now."""
    here = source_digest("slotwise.paper.timing")
    path = _path(folder, ["growth", GROWTH_GRID, GROWTH_ROUNDS, seed, code_version("pb_mhb"), here, _machine()])
    try:
        return load_document(path, "growth", FORMAT_VERSION, Growths).points
    except BadInput:
        points = []
        for n, positions, sweeps in GROWTH_GRID:
            model = PBM(np.linspace(0.3, 0.01, n), 1.0 / np.arange(1, positions + 1))
            seconds = _seconds("pb_mhb", model, GROWTH_ROUNDS, {"sweeps": sweeps}, seed)
            points.append(Growth(n, positions, sweeps, 1e3 * seconds / GROWTH_ROUNDS))
        save_document(path, "growth", FORMAT_VERSION, Growths(points))
        return points


def _seconds(policy: str, model: PBM, rounds: int, params: dict[str, object], seed: int, first: int = 0) -> float:
    return simulate(policy, model, rounds, runs=1, seed=seed, params=params, threads=1, first_run=first).seconds


def _machine() -> str:
    return f"{platform.machine()} {platform.python_version()}"


def _path(folder: Path, told: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{hashlib.sha256(msgspec.json.encode(told, order='sorted')).hexdigest()[:32]}.json"
