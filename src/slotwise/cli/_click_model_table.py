"""The table of compared click models that `slotwise fit --clicks` prints."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console
from slotwise.cli._fit_table import (
    MOST_ITEMS_OF_ONE,
    MOST_QUERIES,
    format_estimate,
    format_interval,
    printable_name,
    query_label,
)

if TYPE_CHECKING:
    from slotwise.inference.click_model_comparison import ClickModelComparison, ModelScore
    from slotwise.inference.query_fit import QueryFit


def print_comparisons(fits: Sequence["QueryFit"], left_out: int) -> None:
    """Print the verdict, the scores and the parameters of the chosen model for the largest queries."""
    if left_out:
        console.print_note(f"{left_out:,} displays were left out, because they have a position twice")
    compared = [(fit, fit.comparison) for fit in sorted(fits, key=lambda fit: -fit.displays) if fit.comparison]
    for fit, comparison in compared[:MOST_QUERIES]:
        console.stdout.print()
        console.stdout.print(f"[bold]{escape(query_label(fit.name))}[/]: {escape(comparison.verdict)}")
        if comparison.scores:
            console.stdout.print(_scores(comparison))
        if len(compared) == 1:
            _print_parameters(fit, comparison)
    if len(compared) > MOST_QUERIES:
        console.stdout.print(f"and {len(compared) - MOST_QUERIES:,} more queries; --json has all of them")
    if len(compared) > 1:
        console.stdout.print(f"\n{_summary([comparison for _, comparison in compared])}")


def _scores(comparison: "ClickModelComparison") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("model", "log-likelihood", "behind the best", "perplexity"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "model" else "right")
    for score in comparison.scores:
        table.add_row(score.model, _number(score.log_likelihood), _behind(score), _perplexity(score))
    return table


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "impossible"


def _behind(score: "ModelScore") -> str:
    if score.behind == math.inf:
        return f"{score.impossible:,.0f} sessions"
    return "-" if score.behind == 0.0 else f"{score.behind:.4f} ± {score.behind_error:.4f}"


def _perplexity(score: "ModelScore") -> str:
    """The mean over positions. `--json` has each of them."""
    known = [value for value in score.perplexity if math.isfinite(value)]
    return f"{sum(known) / len(known):.4f}" if known else "-"


def _print_parameters(fit: "QueryFit", comparison: "ClickModelComparison") -> None:
    """Print the parameters of the chosen model. Those of the position-based model are in the table of fits."""
    if comparison.chosen == "pbm":
        return
    for group in comparison.parameters:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for heading in (group.kind, "", f"{100 * fit.level:g} % interval"):
            table.add_column(heading, no_wrap=True)
        rows = list(zip(group.names, group.values.tolist(), group.intervals.tolist(), strict=True))
        for name, value, (low, high) in rows[:MOST_ITEMS_OF_ONE]:
            ends = "-" if (low, high) == (0.0, 1.0) else format_interval(value, low, high)
            table.add_row(escape(printable_name(name)), format_estimate(value), ends)
        if len(rows) > MOST_ITEMS_OF_ONE:
            table.add_row(f"and {len(rows) - MOST_ITEMS_OF_ONE:,} more", "", "")
        console.stdout.print()
        console.stdout.print(table)


def _summary(comparisons: Sequence["ClickModelComparison"]) -> str:
    """How many queries follow which click model."""
    found: dict[str, int] = {}
    for comparison in comparisons:
        name = comparison.chosen if comparison.sure else "cannot tell"
        found[name] = found.get(name, 0) + 1
    return "click models: " + ", ".join(
        f"{name} in {count:,} {'query' if count == 1 else 'queries'}"
        for name, count in sorted(found.items(), key=lambda pair: -pair[1])
    )
