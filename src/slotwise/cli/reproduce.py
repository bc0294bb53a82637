"""`slotwise reproduce`: rerun the experiments of the paper, draw its figures and check its claims."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress, TaskID
from rich.table import Table

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.extras import MissingExtra, require

if TYPE_CHECKING:
    from slotwise.paper.reproduce import Reproduction

COLOURS = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}


@app.command(
    epilog=options.examples(
        "slotwise reproduce --quick",
        "slotwise reproduce --only fig-warm,tab-time",
        "slotwise reproduce --dask tcp://127.0.0.1:8786",
    )
)
def reproduce(
    only: Annotated[
        str | None, typer.Option(help="Comma-separated experiments, such as fig-warm,tab-time; all by default.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs and rounds: a trial, whose numbers are not to be cited.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write into; a stopped run continues from it. Default: out/paper, or out/paper-quick with "
            "--quick."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers, except for times.")] = 0,
    runs: Annotated[
        int | None, typer.Option(help="Runs of every experiment, at least 2; by default as many as in the paper.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Chunks of runs to simulate in parallel; by default one for each core.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler that simulates the chunks instead: tcp://127.0.0.1:8786"),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Rerun the paper's experiments, draw its figures, and check its claims."""
    require("charts", "slotwise reproduce")
    from slotwise.paper.executor import Workers
    from slotwise.paper.output.publish import publish
    from slotwise.paper.reproduce import Scope
    from slotwise.paper.reproduce import reproduce as rerun

    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    folder = out or Path("out") / ("paper-quick" if quick else "paper")
    if jobs is not None and jobs < 1:
        raise BadInput(f"--jobs = {jobs} is not a whole number of at least 1")
    try:
        with console.make_progress(quiet or as_json, speed_estimate_period=120) as progress:
            listener = _ProgressListener(progress)
            reproduction = rerun(folder, Scope(names, quick, seed, runs), Workers(jobs, dask), listener)
            listener.status("drawing")
            publish(reproduction, folder, _command())
    except KeyboardInterrupt:
        message = f"stopped; the results so far are in {folder}: the same command continues from there"
        console.stderr.print(message, markup=False, soft_wrap=True)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(_summary(reproduction, folder), indent=2))
    else:
        _print_reproduction(reproduction, folder)
        _note_missing_parquet()


class _ProgressListener:
    """An overall progress bar with the time left, and a bar for each experiment.

    Messages are printed even when quiet.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._overall = progress.add_task("starting", total=0.0)
        self._tasks: dict[str, TaskID] = {}

    def warn(self, message: str) -> None:
        self._progress.console.print(message, markup=False)

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


def _command() -> str:
    """The command line as it appears in the report.

    Paths are shortened to file names, so that the report does not depend on the machine.
    """
    words = [os.path.basename(word) if "/" in word else word for word in sys.argv[1:]]  # noqa: PTH119
    return shlex.join(["slotwise", *words])


def _note_missing_parquet() -> None:
    try:
        require("logs", "data as Parquet", "pyarrow")
    except MissingExtra as error:
        console.print_note(f"the data are written as CSV only: {error}")


def _summary(reproduction: "Reproduction", folder: Path) -> dict[str, Any]:
    return {
        "quick": reproduction.scope.quick,
        "seed": reproduction.scope.seed,
        "out": str(folder),
        "claims": {
            judgement.claim.name: {
                "verdict": judgement.verdict,
                "parts": [
                    {name: getattr(criterion, name) for name in ("where", "holds", "measured")}
                    for criterion in judgement.criteria
                ],
            }
            for judgement in reproduction.judgements
        },
        "seconds": {name: cost.seconds for name, cost in reproduction.costs.items()},
        "seconds_now": {name: cost.seconds_now for name, cost in reproduction.costs.items()},
        "wall_seconds": reproduction.wall_seconds,
        "chunks_now": reproduction.chunks_now,
    }


def _print_reproduction(reproduction: "Reproduction", folder: Path) -> None:
    """Print the verdict on each claim, the time of each experiment, and the paths of the output."""
    from slotwise.paper.output.figures import QUICK
    from slotwise.paper.output.publish import DATA, REPORT
    from slotwise.paper.output.quick_warning import quick_warning
    from slotwise.paper.output.sections import SIGNS, cost_table, summarize_verdicts

    claims = Table("claim", "the paper says", "verdict", show_edge=False)
    for judgement in reproduction.judgements:
        verdict = f"[{COLOURS[judgement.verdict]}]{SIGNS[judgement.verdict]} {judgement.verdict}[/]"
        claims.add_row(judgement.claim.name, escape(judgement.claim.says), verdict)
    console.stdout.print(claims)
    costs = cost_table(reproduction)
    times = Table(*costs.heads, show_edge=False)
    for row in costs.rows:
        times.add_row(*map(escape, row))
    console.stdout.print()
    console.stdout.print(times)
    console.print_line(summarize_verdicts(reproduction.judgements))
    console.print_line(f"simulated and measured in {reproduction.wall_seconds:.0f} s")
    if reproduction.scope.quick:
        console.stdout.print(f"[bold yellow]{QUICK}.[/] {escape(quick_warning(reproduction))}")
    for name in (REPORT, DATA):
        console.print_line(f"{name.partition('.')[0]}: {folder / name}")
