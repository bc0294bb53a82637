"""`slotwise load`: simulated visitors against a running service."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.checks import BadInput, whole
from slotwise.cli import _console as console
from slotwise.cli._parsing import check_charts, model_of, whole_text
from slotwise.client.address import URL

INTERRUPTED = 130


@console.app.command(
    epilog="Examples: slotwise load --create --rate 200; "
    "slotwise load --page shop --model examples/visitors.json --rate max --connections 32 --chart curve.svg"
)
def load(
    page: Annotated[str, typer.Option(help="The page to visit; it must be there, or say --create.")] = "load",
    create: Annotated[
        bool, typer.Option("--create", help="Make the page when it is not there: item1, ... at position1, ...")
    ] = False,
    url: Annotated[str, typer.Option(help="The address of the service.")] = URL,
    rate: Annotated[str, typer.Option(help="Rounds per second, or max: as fast as the service answers.")] = "200",
    connections: Annotated[int, typer.Option(min=1, max=500, help="How many requests are under way at most.")] = 16,
    rounds: Annotated[str, typer.Option(help="How many page views; 1e5 is welcome.")] = "20000",
    delay: Annotated[int, typer.Option(help="Send each click this many rounds late.")] = 0,
    setting: Annotated[
        str | None, typer.Option(help="Visitors as in a setting of the paper: standard (the default), near-zero, ...")
    ] = None,
    theta: Annotated[str | None, typer.Option(help="Attractiveness of each item of the page: .3,.2,.1")] = None,
    kappa: Annotated[str | None, typer.Option(help="Visibility of each position of the page: 1,.5")] = None,
    model: Annotated[Path | None, typer.Option(help='A JSON file with both: {"theta": [...], "kappa": [...]}.')] = None,
    seed: Annotated[int, typer.Option(help="Of the visitors.")] = 0,
    chart: Annotated[
        list[Path] | None,
        typer.Option(help="Draw the learning curve into a .svg, .png, .pdf, .html or .json; repeat for more."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No picture while it runs.")] = False,
) -> None:
    """Let simulated visitors ask a running service for displays and click: how fast it answers, how well it learns."""
    from slotwise.client.load.generator import LoadGenerator, LoadPlan
    from slotwise.client.load.visitors import Visitors

    check_charts(chart)
    plan = LoadPlan(page, whole_text("--rounds", rounds), rate_of(rate), connections, whole("--delay", delay, least=0))
    truth, described = model_of(setting, theta, kappa, model)
    address, (items, positions) = _face(url, page, truth, create)
    job = LoadGenerator(address, Visitors(truth, items, positions, whole("--seed", seed, least=0)), plan)
    report = play(job, quiet or as_json)
    if chart and report.learning_curve:
        draw(report, job.visitors.regret_at_random, chart)
    if as_json:
        from slotwise.client.load.report import to_json_data

        print(json.dumps({"seed": seed, "visitors": described, **to_json_data(report)}, indent=2))
    else:
        show(report, described)
        for path in chart or []:
            console.screen.print(f"chart: {path}", highlight=False)
    if report.stopped:
        raise typer.Exit(INTERRUPTED if report.stopped == "stopped" else 1)


def rate_of(text: str) -> float | None:
    """Rounds per second; None for max."""
    if text == "max":
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number <= 1e6:
        raise BadInput(f"--rate = {text!r} is neither max nor a number of rounds per second")
    return number


def _face(url: str, page: str, truth: Any, create: bool) -> Any:
    from slotwise.client import pages
    from slotwise.client.http_client import HttpClient

    with HttpClient(url) as remote:
        found, _ = pages.fetch_page(remote, page)
        if found is None and create:
            pages.create_numbered_page(remote, page, truth)
        return remote.address, pages.outline(pages.fetch_existing_page(remote, page))


def play(job: Any, quiet: bool) -> Any:
    """Run a load, drawing it as it goes; its report, also when it was interrupted."""
    from slotwise.cli._live_view import live
    from slotwise.client.load.generator import run_until_interrupted
    from slotwise.client.load.report import LoadReport

    with live(quiet) as tell:
        run_until_interrupted(lambda: job.run(tell), job.stop)
    return LoadReport.of(job)


def draw(report: Any, at_random: float, charts: list[Path]) -> None:
    """The learning curve into files."""
    from slotwise.charts import learning_chart, save_chart

    drawing = learning_chart(
        report.learning_curve, at_random, f"Learning curve of page {report.page}", [report.summary()]
    )
    for path in charts:
        save_chart(drawing, path)


def show(report: Any, described: str) -> None:
    """A summary, latencies, and what went wrong."""
    table = Table(show_edge=False)
    table.add_column("answered in", no_wrap=True)
    for name in report.recommendations.milliseconds:
        table.add_column(name, justify="right")
    for what, calls in (("recommendations", report.recommendations), ("events", report.events)):
        table.add_row(what, *["-" if ms is None else f"{ms:.1f} ms" for ms in calls.milliseconds.values()])
    line = f"{described} on page {report.page}: {report.summary()}"
    console.screen.print(escape(line), highlight=False, soft_wrap=True)
    console.screen.print(table)
    console.screen.print(f"lately {report.regret_per_round_lately:.4f} clicks are lost per round", highlight=False)
    for line in report.problems():
        console.errors.print(f"[yellow]note:[/] {escape(line)}", highlight=False)
    if report.stopped:
        console.errors.print(escape(report.stopped), highlight=False)
