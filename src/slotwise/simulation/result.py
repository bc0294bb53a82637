"""The result of a simulation: the regret of every run at the checkpoints, and its statistics."""

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, vector, within
from slotwise.clickmodels._click_model import ClickModel, make_model
from slotwise.files import load_document, save_document
from slotwise.notebook import html_block, html_table, plural

FORMAT_VERSION = 2  # version 1 had theta and kappa, because the PBM was the only click model


@dataclass(frozen=True, eq=False)
class Result:
    """The regret of one policy: `regret[r, k]` is the regret of run r after `rounds[k]` rounds (Eq. 3).

    >>> import slotwise as sw
    >>> visitors = sw.PBM(theta=[0.3, 0.2, 0.1], kappa=[1.0, 0.5])
    >>> result = sw.simulate("uniform", visitors, rounds=1_000, runs=3, checkpoints=[10, 1_000])
    >>> result.rounds, result.regret.shape
    (array([  10, 1000]), (3, 2))
    >>> bool(result.mean()[-1] > result.mean()[0])
    True
    """

    policy: str
    params: dict[str, Any]
    visitors: ClickModel
    seed: int
    delay: int
    rounds: Ints  #: checkpoints (K,)
    regret: Floats  #: runs x K
    seconds: float  #: in the compiled loop, summed over runs

    @property
    def runs(self) -> int:
        return int(self.regret.shape[0])

    @property
    def microseconds(self) -> float:
        """Time per round in the compiled loop."""
        return 1e6 * self.seconds / (self.runs * int(self.rounds[-1]))

    def __repr__(self) -> str:
        mean, error = float(self.mean()[-1]), float(self.standard_error()[-1])
        spread = "" if error != error else f" ± {_format(error)}"
        size = f"{plural(float(self.rounds[-1]), 'round')}, {plural(self.runs, 'run')}"
        return f"Result({self.policy}: regret {_format(mean)}{spread} after {size})"

    def _repr_html_(self) -> str:
        median, high = self.quantiles([0.5, 0.95])
        columns = (self.mean(), self.standard_error(), median, high)
        shown = [k for k, t in enumerate(self.rounds.tolist()) if _is_power_of_ten(t) or t == self.rounds[-1]]
        rows = [[f"{self.rounds[k]:,}", *(_format(column[k]) for column in columns)] for k in shown]
        settings = ", ".join(f"{name} = {value}" for name, value in self.params.items()) or "none"
        size = f"{plural(self.visitors.n_items, 'item')}, {plural(self.visitors.n_positions, 'position')}"
        notes = [
            f"settings: {settings}",
            f"{size}; seed {self.seed}, delay {self.delay}; {self.microseconds:.3g} µs/round",
        ]
        table = html_table(["rounds", "regret", "standard error", "median", "95 %"], rows)
        return html_block(repr(self), table, notes=notes)

    def mean(self) -> Floats:
        """The mean regret over runs at each checkpoint."""
        return np.asarray(self.regret.mean(axis=0))

    def standard_error(self) -> Floats:
        """The standard error of the mean at each checkpoint. It is NaN for a single run."""
        return _standard_error(self.regret)

    def quantiles(self, levels: ArrayLike) -> Floats:
        """Quantiles over runs: one row for each level, one column for each checkpoint."""
        wanted = within("levels", vector("levels", levels), 0.0, 1.0)
        return np.asarray(np.quantile(self.regret, wanted, axis=0))

    def difference(self, other: "Result") -> "Difference":
        """The regret of this result minus that of `other`. Runs are paired, because both had the same visitors."""
        self._check_paired(other)
        gaps = self.regret - other.regret
        return Difference(self.rounds, np.asarray(gaps.mean(axis=0)), _standard_error(gaps))

    def ratio(self, other: "Result") -> "Ratio":
        """The mean regret of this result divided by that of `other`. It is NaN where the regret of `other` is zero.

        Runs are paired. The standard error follows from the delta method. Let A and B be the regrets of a run, and r
        the ratio. Then the standard error of the ratio is that of the mean of A - r B over the runs, divided by the
        mean of B.
        """
        self._check_paired(other)
        divisor = np.where(other.mean() == 0.0, np.nan, other.mean())
        value = self.mean() / divisor
        return Ratio(self.rounds, value, _standard_error(self.regret - value * other.regret) / divisor)

    def is_paired_with(self, other: "Result") -> bool:
        """Whether both results have the same runs, visitors and checkpoints."""
        return self._pairing_problem(other) is None

    def _check_paired(self, other: "Result") -> None:
        if not isinstance(other, Result):
            raise BadInput(f"other = {other!r} is not a Result")
        problem = self._pairing_problem(other)
        if problem:
            raise BadInput(problem)

    def _pairing_problem(self, other: "Result") -> str | None:
        if self.regret.shape != other.regret.shape or not np.array_equal(self.rounds, other.rounds):
            return "only results with the same runs and checkpoints can be paired"
        mine, theirs = ((one.seed, one.visitors.click_model, one.visitors.parameters()) for one in (self, other))
        return None if mine == theirs else "only results with the same seed and the same click model can be paired"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as versioned JSON. An existing file is replaced atomically."""
        body = _SavedResult(
            **{name: getattr(self, name) for name in ("policy", "params", "seed", "delay", "seconds")},
            clicks=self.visitors.click_model,
            parameters=self.visitors.parameters(),
            **{name: getattr(self, name).tolist() for name in ("rounds", "regret")},
        )
        save_document(path, "result", FORMAT_VERSION, body)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """Load a file that `save` wrote."""
        saved = load_document(path, "result", FORMAT_VERSION, _SavedResult, oldest=1)
        damaged = f"{str(path)!r} is a damaged slotwise result"
        bounds = [0, *saved.rounds]
        if not saved.regret or any(len(row) != len(saved.rounds) for row in saved.regret):
            raise BadInput(f"{damaged}: regret does not fit rounds")
        if not saved.rounds or bounds[-1] >= 2**63 or any(a >= b for a, b in pairwise(bounds)):
            raise BadInput(f"{damaged}: rounds do not increase from 1 on")
        try:
            visitors = make_model(saved.clicks, saved.parameters or {"theta": saved.theta, "kappa": saved.kappa})
        except BadInput as error:
            raise BadInput(f"{damaged}: {error}") from None
        return cls(
            policy=saved.policy,
            params=saved.params,
            visitors=visitors,
            seed=saved.seed,
            delay=saved.delay,
            rounds=np.array(saved.rounds, dtype=np.int64),
            regret=np.array(saved.regret, dtype=np.float64),
            seconds=saved.seconds,
        )


@dataclass(frozen=True, eq=False)
class Difference:
    """A paired difference of regret at each checkpoint, with its standard error."""

    rounds: Ints
    mean: Floats
    standard_error: Floats


@dataclass(frozen=True, eq=False)
class Ratio:
    """A paired ratio of mean regrets at each checkpoint, with its standard error."""

    rounds: Ints
    value: Floats
    standard_error: Floats


class _SavedResult(msgspec.Struct):
    policy: str
    params: dict[str, Any]
    seed: int
    delay: int
    rounds: list[int]
    regret: list[list[float]]
    seconds: float
    clicks: str = "pbm"
    parameters: dict[str, Any] = {}
    theta: list[float] = []
    kappa: list[float] = []


def _format(value: float) -> str:
    if value != value:
        return "-"  # the standard error of one run
    return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:,.0f}"


def _is_power_of_ten(number: int) -> bool:
    return str(number).strip("0") == "1"


def _standard_error(values: Floats) -> Floats:
    runs = values.shape[0]
    if runs == 1:
        return np.full(values.shape[1], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(runs))
