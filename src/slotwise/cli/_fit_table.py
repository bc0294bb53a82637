"""The table of fitted queries that `slotwise fit` prints."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.inference.query_fit import QueryFit
    from slotwise.inference.template import Template

MOST_QUERIES = 10
MOST_ITEMS, MOST_ITEMS_OF_ONE = 8, 20  # items shown for each of several queries, or for one; at least one per position
MOST_TEMPLATES = 5
MOST_WARNINGS = 5  # further warnings are only counted
_NAME_WIDTH = 40  # of the query's name in front of its warning
_SIGNIFICANT = 0.05  # below this p-value, a fit without a warning needs its small deviation as the reason
_GAP = 3  # columns of the console between kappas and thetas
_PADDING = 2  # between two columns of the table


class _Row(NamedTuple):
    """A kappa or a theta."""

    name: str
    estimate: str
    interval: str


_EMPTY = _Row("", "", "")


def print_fits(fits: Sequence["QueryFit"]) -> None:
    """Print kappas and thetas of the queries with the most displays, and the first of their warnings."""
    order = sorted(fits, key=lambda fit: -fit.displays)
    shown = order[:MOST_QUERIES]
    most_items = MOST_ITEMS_OF_ONE if len(shown) == 1 else MOST_ITEMS
    halves = [(_kappa_rows(fit), _theta_rows(fit, max(most_items, fit.kappa.size))) for fit in shown]
    for fit, (kappas, thetas) in zip(shown, halves, strict=True):
        console.stdout.print(_heading(fit), no_wrap=True, overflow="ellipsis")
        console.stdout.print(_table(fit, kappas, thetas, _widths(halves)))
        console.stdout.print()
    if len(order) > MOST_QUERIES:
        console.stdout.print(f"and {len(order) - MOST_QUERIES:,} more queries; --json and --output have all of them")
    if any(fit.method == "svd" for fit in fits):
        console.stdout.print("svd gives no intervals; em and bayes do")
    _print_warnings(order)
    _print_templates(fits)
    if fits:
        console.stdout.print(_verdict(fits))


def _heading(fit: "QueryFit") -> str:
    counts = {"item": len(fit.items), "display": fit.displays, "click": fit.clicks}
    sizes = ", ".join(f"{_format_count(count)} {noun}{'s' * (count != 1)}" for noun, count in counts.items())
    most = max(console.stdout.width - len(sizes) - 2, 8)
    return f"[bold]{escape(_shortened(query_label(fit.name), most))}[/]: {sizes}"


def _kappa_rows(fit: "QueryFit") -> list[_Row]:
    """A row for every position, in the order of the page."""
    return [
        _Row(printable_name(name), format_estimate(value), format_interval(value, *ends))
        for name, value, ends in zip(fit.positions, fit.kappa.tolist(), fit.kappa_interval.tolist(), strict=True)
    ]


def _theta_rows(fit: "QueryFit", most: int) -> list[_Row]:
    """A row for each of the most attractive items, and a last row with the number of the other items."""
    order = (-fit.theta).argsort(kind="stable")
    listed = order if order.size <= most else order[: most - 1]
    rows = [
        _Row(
            printable_name(fit.items[k]),
            format_estimate(float(fit.theta[k])),
            format_interval(float(fit.theta[k]), *fit.theta_interval[k].tolist()),
        )
        for k in listed.tolist()
    ]
    return rows if listed.size == order.size else [*rows, _Row(f"and {order.size - listed.size:,} more", "", "")]


def _widths(halves: Sequence[tuple[list[_Row], list[_Row]]]) -> list[int]:
    """The widths of the table's columns. Numbers get the width that they need, and names share the rest."""
    widths = [
        max(cell_len(text) for text in [heading, *(row[field] for pair in halves for row in pair[half])])
        for half, headings in enumerate((("position", "kappa", ""), ("item", "theta", "")))
        for field, heading in enumerate(headings)
    ]
    widths[2], widths[5] = max(widths[2], len("90 % interval")), max(widths[5], len("90 % interval"))
    free = console.stdout.width - sum(widths[k] for k in (1, 2, 4, 5)) - 4 * _PADDING - _GAP
    positions, items = widths[0], widths[3]
    if positions + items > free:
        widths[0] = min(positions, max(free // 2, free - items))
        widths[3] = min(items, max(free - widths[0], 1))
    return widths


def _table(fit: "QueryFit", kappas: list[_Row], thetas: list[_Row], widths: Sequence[int]) -> Table:
    table = Table(box=None, padding=0, pad_edge=False, header_style="dim")
    interval = f"{100 * fit.level:g} % interval"
    headings = ("position", "kappa", interval, "item", "theta", interval)
    for k, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        gap = 0 if k == 5 else _GAP if k == 2 else _PADDING
        table.add_column(heading, width=width + gap, no_wrap=True)
    size = max(len(kappas), len(thetas))
    for kappa, theta in zip(_padded(kappas, size), _padded(thetas, size), strict=True):
        cells = zip((*kappa, *theta), widths, strict=True)
        table.add_row(*(escape(_shortened(text, width)) for text, width in cells))
    return table


def _padded(rows: list[_Row], size: int) -> list[_Row]:
    return rows + [_EMPTY] * (size - len(rows))


def _print_warnings(fits: Sequence["QueryFit"]) -> None:
    warnings = [(fit.name, warning) for fit in fits for warning in fit.warnings]
    for name, warning in warnings[:MOST_WARNINGS]:
        label = _shortened(query_label(name), _NAME_WIDTH)
        about_part = name.isdecimal() and warning.startswith(("item", "position"))
        console.stdout.print(f"[yellow]{escape(label)}{',' if about_part else ':'}[/] {escape(warning)}")
    if len(warnings) > MOST_WARNINGS:
        affected = f"{sum(bool(fit.warnings) for fit in fits):,} of {len(fits):,} queries have warnings"
        console.stdout.print(f"and {len(warnings) - MOST_WARNINGS:,} more warnings; {affected}")


def _print_templates(fits: Sequence["QueryFit"]) -> None:
    """For each template: how many queries share their kappas, whether they may, and the warnings of the template."""
    from slotwise.inference.fit_files import distinct_templates

    positions = {id(fit.template): fit.positions for fit in fits}
    templates = sorted(distinct_templates(fits), key=lambda template: -template.queries)
    for template in templates[:MOST_TEMPLATES]:
        label = f"positions {', '.join(printable_name(name) for name in positions[id(template)])}"
        label = escape(_shortened(label, _NAME_WIDTH))
        console.stdout.print(f"{label}: {_template_verdict(template)}")
        for warning in template.warnings:
            console.stdout.print(f"[yellow]{label}:[/] {escape(warning)}")
    if len(templates) > MOST_TEMPLATES:
        console.stdout.print(f"and {len(templates) - MOST_TEMPLATES:,} more lists of positions")


def _template_verdict(template: "Template") -> str:
    if template.queries == 1:
        return "no other query has these positions"
    text = f"{template.queries:,} queries share their kappas"
    if template.linked:
        text += f"; {template.linked:,} of them have too few counts to separate theta and kappa alone"
    test = template.test
    if template.different_kappas:
        return text  # the warning has the test
    if test is None:
        return f"{text}; there are too few clicks to test whether the kappas differ"
    if test.p_value >= _SIGNIFICANT:
        return f"{text}; no difference was found (p = {test.p_value:.2g})"
    return f"{text}; they differ by {100 * test.size:.1f} % only (p = {test.p_value:.1g})"


def _verdict(fits: Sequence["QueryFit"]) -> str:
    """One line with the results of the goodness-of-fit tests. It is printed even if they found nothing wrong."""
    tests = [fit.goodness_of_fit for fit in fits if fit.goodness_of_fit is not None]
    poor, untested = sum(fit.poor_fit for fit in fits), len(fits) - len(tests)
    if not tests:
        return "the position-based model was not tested: there are too few clicks or cells"
    if len(fits) > 1:
        rest = f"; {untested:,} {'was' if untested == 1 else 'were'} not tested" if untested else ""
        return f"the position-based model fits {len(tests) - poor:,} of {len(tests):,} tested queries{rest}"
    (test,) = tests
    if poor or test.p_value >= _SIGNIFICANT:
        return f"the position-based model {'does not fit' if poor else 'fits'}: p = {test.p_value:.2g}"
    return (
        f"the position-based model fits: click rates are off by {100 * test.size:.1f} % only (p = {test.p_value:.1g})"
    )


def query_label(name: str) -> str:
    """The name of a query. The name 7 becomes "query 7", because 7 alone would look like a number in a list."""
    return f"query {name}" if name.isdecimal() else printable_name(name)


def printable_name(name: str) -> str:
    """A name on one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in name)


def _shortened(text: str, width: int) -> str:
    """The text, or its start and end if it is too wide. The end is kept because names often differ only there."""
    if cell_len(text) <= width:
        return text
    end = (width - 1) // 3
    return set_cell_size(text, width - 1 - end) + "…" + set_cell_size(text[::-1], end)[::-1]


def _format_count(value: float) -> str:
    """A count as text of at most seven characters, such as 12,345 or 1.2M."""
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}"


def format_estimate(value: float) -> str:
    """An estimate as text with three digits, such as .301 or .0120. The value 1 has no decimals."""
    return f"{value:.0f}" if value in (0.0, 1.0) else f"{value:#.3g}".removeprefix("0")


def format_interval(value: float, low: float, high: float) -> str:
    """An interval as text, such as ".290 to .312", or a dash if the interval is not known."""
    if math.isnan(low):
        return "-"
    return "reference" if low == high == value == 1.0 else f"{format_estimate(low)} to {format_estimate(high)}"
