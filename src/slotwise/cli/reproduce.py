"""`slotwise reproduce`: the whole paper, rerun, drawn and judged."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from slotwise.checks import BadInput
from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.paper.reproduce import Reproduction

COLOURS = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}


@console.app.command(
    epilog="Examples: slotwise reproduce --quick; slotwise reproduce --only fig-warm,tab-time; "
    "slotwise reproduce --dask tcp://127.0.0.1:8786"
)
def reproduce(
    only: Annotated[str | None, typer.Option(help="Comma-separated experiments, such as fig-warm,tab-time.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs and rounds: a try, not to be cited.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write into, and to go on from: out/paper, or out/paper-quick with --quick."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers, but for times.")] = 0,
    runs: Annotated[
        int | None, typer.Option(help="So many runs of everything, in place of the paper's numbers.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="How many chunks to play at once; all cores by default.")] = None,
    dask: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to play the chunks.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable summary.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Rerun the paper's experiments, draw its figures, and check its claims."""
    from slotwise.paper.executor import Workers
    from slotwise.paper.output.publish import publish
    from slotwise.paper.reproduce import Scope
    from slotwise.paper.reproduce import reproduce as rerun

    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    folder = out or Path("out") / ("paper-quick" if quick else "paper")
    if jobs is not None and jobs < 1:
        raise BadInput(f"--jobs = {jobs} is not a whole number of at least 1")
    try:
        with _watching(quiet or as_json) as watcher:
            found = rerun(folder, Scope(names, quick, seed, runs), Workers(jobs, dask), watcher)
            watcher.status("drawing")
            publish(found, folder, _command())
    except KeyboardInterrupt:
        told = f"stopped; what is done is kept in {folder}: the same command goes on from there"
        console.errors.print(escape(told), highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(_summary(found, folder), indent=2))
    else:
        _show(found, folder)


class _Bars:
    """One overall bar with the time left, and a line for each experiment."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._overall = progress.add_task("starting", total=0.0)
        self._tasks: dict[str, TaskID] = {}

    def warn(self, message: str) -> None:
        self._progress.console.print(escape(message), highlight=False)

    def status(self, activity: str) -> None:
        self._progress.update(self._overall, description=activity)

    def expect(self, experiment: str, work: float) -> None:
        if experiment not in self._tasks:
            self._tasks[experiment] = self._progress.add_task(experiment, total=0.0)
        for task in (self._overall, self._tasks[experiment]):
            self._progress.update(task, total=(self._progress.tasks[task].total or 0.0) + work)

    def advance(self, experiment: str, work: float) -> None:
        for task in (self._overall, self._tasks[experiment]):
            self._progress.advance(task, work)


@contextmanager
def _watching(quiet: bool) -> Iterator[_Bars]:
    """Progress on stderr; silent when it is not a terminal, but for what must be said."""
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    silent = quiet or not console.errors.is_terminal
    with Progress(*columns, console=console.errors, disable=silent, speed_estimate_period=120) as progress:
        yield _Bars(progress)


def _command() -> str:
    """What was typed, without where it was typed."""
    words = [os.path.basename(word) if "/" in word else word for word in sys.argv[1:]]  # noqa: PTH119
    return shlex.join(["slotwise", *words])


def _summary(found: "Reproduction", folder: Path) -> dict[str, Any]:
    return {
        "quick": found.scope.quick,
        "seed": found.scope.seed,
        "out": str(folder),
        "claims": {
            one.claim.name: {"verdict": one.verdict, "parts": [criterion._asdict() for criterion in one.criteria]}
            for one in found.judgements
        },
        "seconds": {name: cost.seconds for name, cost in found.costs.items()},
        "seconds_now": {name: cost.seconds_now for name, cost in found.costs.items()},
        "wall_seconds": found.wall_seconds,
        "chunks_now": found.chunks_now,
    }


def _show(found: "Reproduction", folder: Path) -> None:
    """The verdicts, where the time went, and where everything lies."""
    from slotwise.paper.output.figures import QUICK
    from slotwise.paper.output.publish import DATA, REPORT
    from slotwise.paper.output.sections import SIGNS, cost_table, count_verdicts

    table = Table("claim", "the paper says", "verdict", show_edge=False)
    for one in found.judgements:
        verdict = f"[{COLOURS[one.verdict]}]{SIGNS[one.verdict]} {one.verdict}[/]"
        table.add_row(one.claim.name, escape(one.claim.says), verdict)
    console.screen.print(table)
    costs = cost_table(found)
    times = Table(*costs.heads, show_edge=False)
    for row in costs.rows:
        times.add_row(*map(escape, row))
    console.screen.print()
    console.screen.print(times)
    console.screen.print(f"{len(found.judgements)} claims: {count_verdicts(found.judgements)}", highlight=False)
    console.screen.print(f"played and measured in {found.wall_seconds:.0f} s", highlight=False)
    if found.scope.quick:
        console.screen.print(f"[bold yellow]{QUICK}[/]")
    for name in (REPORT, DATA):
        console.screen.print(f"{name.partition('.')[0]}: {folder / name}", highlight=False, soft_wrap=True)
