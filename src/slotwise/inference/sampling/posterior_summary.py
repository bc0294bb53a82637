"""The summary table of a posterior."""

from dataclasses import dataclass
from typing import NamedTuple

_WIDTHS = (11, 11, 11, 11, 9, 8)


class Row(NamedTuple):
    """One theta or kappa."""

    name: str
    mean: float
    sd: float
    low: float
    high: float
    ess: float
    r_hat: float


@dataclass(frozen=True)
class Summary:
    """A row for each theta and kappa. It is printed as an aligned table."""

    rows: list[Row]
    level: float
    note: str
    warning: str = ""

    def __str__(self) -> str:
        name_width = max(len(row.name) for row in self.rows)
        heads = ("mean", "sd", f"{100 * (1 - self.level) / 2:g} %", f"{100 * (1 + self.level) / 2:g} %", "ess", "R-hat")
        lines = [" " * name_width + "".join(f"{head:>{width}}" for head, width in zip(heads, _WIDTHS, strict=True))]
        lines += [_line(row, name_width) for row in self.rows]
        return "\n".join([*lines, f"{100 * self.level:g} % intervals; {self.note}", *filter(None, [self.warning])])


def _line(row: Row, name_width: int) -> str:
    cells = ["-" if value != value else f"{value:.4g}" for value in row[1:5]]
    cells += [f"{row.ess:,.0f}", f"{row.r_hat:.3f}"] if row.ess == row.ess else ["-", "-"]
    return f"{row.name:{name_width}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
