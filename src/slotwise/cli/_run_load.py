"""Run a load and print its report, for `slotwise load` and `slotwise demo`."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.table import Table

from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.client.load.generator import LoadGenerator
    from slotwise.client.load.report import LoadReport


def run_load(
    generator: "LoadGenerator", quiet: bool, beside: Callable[[], Coroutine[Any, Any, None]] | None = None
) -> "LoadReport":
    """Run a load with its live view. The report is complete even if Ctrl-C interrupts the load.

    `beside` runs at the same time, and is cancelled at the end.
    """
    from slotwise.cli._live_view import live_view
    from slotwise.client.load.generator import run_until_interrupted
    from slotwise.client.load.report import LoadReport

    with live_view(quiet) as redraw:

        async def run() -> None:
            task = asyncio.create_task(beside()) if beside is not None else None
            try:
                await generator.run(redraw)
            finally:
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task

        run_until_interrupted(run, generator.stop)
    return LoadReport.of(generator)


def print_report(report: "LoadReport", visitors: str) -> None:
    """Print a summary, latencies, and errors. `visitors` describes the click model."""
    table = Table(show_edge=False)
    table.add_column("latency", no_wrap=True)
    for quantile in report.recommendations.milliseconds:
        table.add_column(quantile, justify="right")
    for what, calls in (("recommendations", report.recommendations), ("events", report.events)):
        table.add_row(what, *["-" if ms is None else f"{ms:.1f} ms" for ms in calls.milliseconds.values()])
    console.print_line(f"{visitors} on page {report.page}: {report.summary()}")
    console.stdout.print(table)
    console.print_line(f"regret per round at the end: {report.regret_per_round_lately:.4f} clicks")
    for line in report.problems():
        console.print_note(line)
    if report.stopped:
        console.stderr.print(report.stopped, markup=False)
