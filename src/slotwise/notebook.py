"""Show objects in Python sessions and notebooks: short numbers, and small HTML tables with escaped names."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from slotwise.checks import Floats

MOST_ROWS = 20  # the largest number of rows of a table in a notebook
_MOST_NUMBERS = 5  # the largest number of values in one line


class Estimates(NamedTuple):
    """Thetas or kappas with their names and intervals. Intervals are N x 2, and NaN if an estimate has no interval."""

    names: Sequence[str]
    values: Floats
    intervals: Floats

    def rows(self, order: Iterable[int]) -> list[list[str]]:
        """The cells of a table: name, estimate, interval."""
        ends = self.intervals.tolist()
        return [[self.names[k], f"{self.values[k]:.3g}", _format_interval(*ends[k])] for k in order]


def format_numbers(values: Floats) -> str:
    """Format the first few numbers with two digits: [0.3, 0.2, 0.1]."""
    listed = [f"{value:.2g}" for value in values[:_MOST_NUMBERS].tolist()]
    return f"[{', '.join(listed)}{', ...' if values.size > _MOST_NUMBERS else ''}]"


def plural(count: float, noun: str) -> str:
    """A number with its noun, such as '1 item' or '12 items'."""
    return f"{count:,.0f} {noun}{'' if count == 1 else 's'}"


def html_estimates(caption: str, level: float, kappa: Estimates, theta: Estimates, notes: Sequence[str] = ()) -> str:
    """Two tables side by side: kappas in the order of the page, thetas by decreasing attractiveness."""
    interval = f"{100 * level:g} % interval"
    by_theta = (-theta.values).argsort(kind="stable").tolist()
    tables = [
        html_table(["position", "kappa", interval], kappa.rows(range(len(kappa.names)))),
        html_table(["item", "theta", interval], theta.rows(by_theta)),
    ]
    return html_block(caption, '<div style="display:flex;gap:2em;align-items:start">', *tables, "</div>", notes=notes)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text. After the first 20 rows, a last row says how many more there are."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    listed = list(rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        listed.append([f"and {len(rows) - MOST_ROWS:,} more", *[""] * (len(heads) - 1)])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in listed)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_block(caption: str, *content: str, notes: Sequence[str] = ()) -> str:
    """HTML with a caption above it and notes below it."""
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<div><strong>{escape(caption)}</strong>{''.join(content)}{below}</div>"


def _format_interval(low: float, high: float) -> str:
    if low == high == 1.0:
        return "reference"  # 1 by convention
    return "-" if low != low else f"{low:.3g} to {high:.3g}"
