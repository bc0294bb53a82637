"""The table of fitted queries that `slotwise fit` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.inference.query_fit import QueryFit

MOST_ROWS = 20
MOST_KAPPAS = 3  # per query
MOST_WARNINGS = 5  # printed in full
_NUMBERS_WIDTH = 60  # columns of the console that are not names


def print_fits(fits: Sequence["QueryFit"]) -> None:
    """Print a row for each of the queries with the most displays, and the first of their warnings."""
    order = sorted(fits, key=lambda fit: -fit.displays)
    name_width = max((console.stdout.width - _NUMBERS_WIDTH) // 2, 8)
    table = Table(show_edge=False)
    table.add_column("query", no_wrap=True, max_width=name_width)
    for heading in ("items", "displays", "clicks"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kappa", no_wrap=True)
    table.add_column("best item", no_wrap=True, max_width=name_width)
    table.add_column("warnings", justify="right", no_wrap=True)
    for fit in order[:MOST_ROWS]:
        table.add_row(
            _format_name(fit.name),
            f"{len(fit.items):,}",
            _format_count(fit.displays),
            _format_count(fit.clicks),
            _format_kappas(fit),
            _format_name(fit.items[int(fit.theta.argmax())]),
            f"[yellow]{len(fit.warnings)}[/]" if fit.warnings else "0",
        )
    console.stdout.print(table)
    if len(order) > MOST_ROWS:
        console.stdout.print(f"and {len(order) - MOST_ROWS:,} more queries")
    if any(fit.method == "svd" for fit in fits):
        console.stdout.print("svd gives no intervals; em and bayes do")
    _print_warnings(order)


def _print_warnings(fits: Sequence["QueryFit"]) -> None:
    warnings = [(fit.name, warning) for fit in fits for warning in fit.warnings]
    for name, warning in warnings[:MOST_WARNINGS]:
        console.stdout.print(f"[yellow]{_format_name(name)}:[/] {escape(warning)}")
    if len(warnings) > MOST_WARNINGS:
        affected = f"{sum(bool(fit.warnings) for fit in fits):,} of {len(fits):,} queries have warnings"
        console.stdout.print(f"and {len(warnings) - MOST_WARNINGS:,} more warnings; {affected}")


def _format_name(name: str) -> str:
    """A name on one line, without control characters or markup."""
    return escape("".join(char if char.isprintable() else " " for char in name))


def _format_count(value: float) -> str:
    """12,345 or 1.2M: at most seven characters."""
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}"


def _format_kappas(fit: "QueryFit") -> str:
    """1 .49 .32: the first few."""
    first = [f"{value:.2f}".lstrip("0").replace("1.00", "1") for value in fit.kappa[:MOST_KAPPAS].tolist()]
    return " ".join(first) + " …" * (fit.kappa.size > MOST_KAPPAS)
