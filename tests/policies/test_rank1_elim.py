"""rank1_elim and rank1_elim_kl, compared with a plain-Python reading of their pseudo-code."""

import math
from collections.abc import Generator
from types import ModuleType

import numpy as np
import pytest

import slotwise as sw
from slotwise.policies import rank1_elim, rank1_elim_kl
from tests.policies.plain_policy import kl_bound, replay

MODEL = sw.Rank1([0.9, 0.3, 0.2], [0.8, 0.2])
HORIZON = 20.0


class Plain:
    """The pseudo-code as a generator: it yields cells (row, column), and is sent clicks."""

    factor = 4.0

    def __init__(self, n_items: int, n_positions: int) -> None:
        self.n_items, self.n_positions = n_items, n_positions
        self.cells = self.play()
        self.cell: tuple[int, int] | None = None

    def bounds(self, mean: float, number: float) -> tuple[float, float]:
        width = math.sqrt(math.log(HORIZON) / number)
        return mean - width, mean + width

    def play(self) -> Generator[tuple[int, int], int, None]:
        rows, columns = list(range(self.n_items)), list(range(self.n_positions))
        row_clicks, column_clicks, sweeps, stage = [0] * self.n_items, [0] * self.n_positions, 0, 0
        while True:
            number = math.ceil(self.factor * 4.0**stage * math.log(HORIZON))
            while sweeps < number:
                column = columns[int(self.rng.random() * len(columns))]
                for row in sorted(set(rows)):
                    row_clicks[row] += yield row, column
                row = rows[int(self.rng.random() * len(rows))]
                for column in sorted(set(columns)):
                    column_clicks[column] += yield row, column
                sweeps += 1
            rows = self.eliminate(rows, [clicks / number for clicks in row_clicks], number)
            columns = self.eliminate(columns, [clicks / number for clicks in column_clicks], number)
            stage += 1

    def eliminate(self, stands_for: list[int], means: list[float], number: int) -> list[int]:
        bounds = [self.bounds(mean, number) for mean in means]
        best = max(sorted(set(stands_for)), key=lambda k: bounds[k][0])
        return [best if bounds[k][1] <= bounds[best][0] else k for k in stands_for]

    def choose(self, _: int, rng: np.random.Generator) -> list[int]:
        self.rng = rng
        row, column = next(self.cells) if self.cell is None else self.cells.send(self.clicked)
        self.cell = row, column
        return [row if position == column else -1 for position in range(self.n_positions)]

    def values(self, display: list[int]) -> list[float]:
        return [float(item) for item in display]

    def update(self, display: list[int], clicks: list[int]) -> None:
        (self.clicked,) = (click for item, click in zip(display, clicks, strict=True) if item >= 0)


class PlainKl(Plain):
    factor = 16.0

    def bounds(self, mean: float, number: float) -> tuple[float, float]:
        threshold = math.log(HORIZON) + 3.0 * math.log(max(math.log(HORIZON), 1.0))
        return 1.0 - kl_bound(1.0 - mean, number, threshold), kl_bound(mean, number, threshold)


@pytest.mark.parametrize(("policy", "plain"), [(rank1_elim, Plain), (rank1_elim_kl, PlainKl)])
def test_cells_follow_the_pseudo_code(policy: ModuleType, plain: type[Plain]) -> None:
    displays = replay(policy, plain, MODEL, rounds=4000, horizon=HORIZON)
    assert displays[0] != displays[-1]
    assert set(map(tuple, displays[-50:])) == {(0, -1)}  # only the best item at the best position remains
