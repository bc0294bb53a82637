"""A posterior in a table."""

from dataclasses import dataclass
from typing import NamedTuple


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
    """A row for each theta and kappa; printed, an aligned table."""

    rows: list[Row]
    level: float
    note: str

    def __str__(self) -> str:
        """The table, and below it what was reached."""
        interval = f"{100 * self.level:g} % interval"
        wide = max(len(row.name) for row in self.rows)
        lines = [f"{'':{wide}}    mean      sd  {interval:>16}     ess  R-hat"]
        lines += [_line(row, wide) for row in self.rows]
        return "\n".join([*lines, self.note])


def _line(row: Row, wide: int) -> str:
    worth = f"{row.ess:7.0f}  {row.r_hat:5.3f}" if row.ess == row.ess else "      -      -"
    return f"{row.name:{wide}}  {row.mean:6.4f}  {row.sd:6.4f}  [{row.low:6.4f}, {row.high:6.4f}]  {worth}"
