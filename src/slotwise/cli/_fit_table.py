"""Fits of many queries, as a table on the screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.inference.query_fit import QueryFit

MOST_ROWS = 20
MOST_KAPPAS = 3  # of a query
MOST_WARNINGS = 5  # in full
_NUMBERS = 58  # columns of the screen that are not names


def show_fits(fits: Sequence["QueryFit"]) -> None:
    """A row for each of the most visited queries, and in words what to beware of in the first of them."""
    order = sorted(fits, key=lambda fit: -fit.displays)
    names = max((console.screen.width - _NUMBERS) // 2, 8)
    table = Table(show_edge=False)
    table.add_column("query", no_wrap=True, max_width=names)
    for heading in ("items", "displays", "clicks"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kappa", no_wrap=True)
    table.add_column("best item", no_wrap=True, max_width=names)
    table.add_column("warned", justify="right", no_wrap=True)
    for fit in order[:MOST_ROWS]:
        table.add_row(
            _line(fit.name),
            f"{len(fit.items):,}",
            _count(fit.displays),
            _count(fit.clicks),
            _kappas(fit),
            _line(fit.items[int(fit.theta.argmax())]),
            f"[yellow]{len(fit.warnings)}[/]" if fit.warnings else "0",
        )
    console.screen.print(table)
    if len(order) > MOST_ROWS:
        console.screen.print(f"and {len(order) - MOST_ROWS:,} more")
    if any(fit.method == "svd" for fit in fits):
        console.screen.print("svd gives no errors; em and bayes do")
    _show_warnings(order)


def _show_warnings(fits: Sequence["QueryFit"]) -> None:
    told = [(fit.name, warning) for fit in fits for warning in fit.warnings]
    for name, warning in told[:MOST_WARNINGS]:
        console.screen.print(f"[yellow]{_line(name)}:[/] {escape(warning)}", highlight=False)
    if len(told) > MOST_WARNINGS:
        concerned = f"{sum(bool(fit.warnings) for fit in fits):,} of {len(fits):,} queries have some"
        console.screen.print(f"and {len(told) - MOST_WARNINGS:,} more warnings; {concerned}")


def _line(name: str) -> str:
    return escape("".join(sign if sign.isprintable() else " " for sign in name))


def _count(value: float) -> str:
    """12,345 or 1.2M: no wider than six letters."""
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:,.0f}"


def _kappas(fit: "QueryFit") -> str:
    """1 .49 .32: the first few."""
    told = [f"{value:.2f}".lstrip("0").replace("1.00", "1") for value in fit.kappa[:MOST_KAPPAS].tolist()]
    return " ".join(told) + " …" * (fit.kappa.size > MOST_KAPPAS)
