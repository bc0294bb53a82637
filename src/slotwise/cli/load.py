"""`slotwise load`: simulated visitors on a running service."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotwise.checks import integer_at_least
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._model_options import ModelOptions
from slotwise.cli._parsing import check_chart_paths, parse_rate, parse_whole_number
from slotwise.cli._run_load import print_report, run_load
from slotwise.cli._service_options import ServiceOptions

if TYPE_CHECKING:
    from slotwise.client.load.report import LoadReport

INTERRUPTED = 130  # exit code


@app.command(
    epilog=options.examples(
        "slotwise load --create --rate 200",
        "slotwise load --page shop --model examples/visitors.json --rate max",
        "slotwise load --page shop --model examples/visitors.json --chart curve.svg",
    )
)
@options.with_option_group
def load(
    *,
    page: Annotated[str, typer.Option(help="Page to visit; it must exist unless you use --create.")] = "load",
    create: Annotated[
        bool,
        typer.Option(
            "--create", help="Create the page if it does not exist, with items item1, ... and positions position1, ..."
        ),
    ] = False,
    service: ServiceOptions,
    rate: Annotated[str, typer.Option(help="Rounds per second, or max for as many as the service can answer.")] = "200",
    connections: Annotated[
        int, typer.Option(min=1, max=500, help="Number of connections: the largest number of simultaneous requests.")
    ] = 16,
    rounds: Annotated[str, typer.Option(help="Number of page views; 1e5 is allowed.")] = "20000",
    delay: options.ClickDelay = 0,
    click_model: ModelOptions,
    seed: Annotated[int, typer.Option(help="Seed of the visitors.")] = 0,
    chart: Annotated[list[Path] | None, options.chart_option("the learning curve")] = None,
    as_json: options.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no live view.")] = False,
) -> None:
    """Send simulated visitors to a running service; report latency, errors and regret."""
    from slotwise.client.load.generator import LoadGenerator, LoadPlan
    from slotwise.client.load.visitors import Visitors

    check_chart_paths(chart)
    plan = LoadPlan(
        page,
        parse_whole_number("--rounds", rounds),
        parse_rate(rate),
        connections,
        integer_at_least("--delay", delay, least=0),
    )
    truth, described = click_model.choose()
    address, outline = _read_page(service, page, truth, create)
    visitors = Visitors.of_page(truth, outline, integer_at_least("--seed", seed, least=0))
    generator = LoadGenerator(address, visitors, plan, service.key)
    report = run_load(generator, quiet or as_json)
    if chart and report.learning_curve:
        _save_charts(report, generator.visitors.regret_at_random, chart)
    if as_json:
        from slotwise.client.load.report import to_json_data

        print(json.dumps({"seed": seed, "visitors": described, **to_json_data(report)}, indent=2))
    else:
        print_report(report, described)
        for path in chart or []:
            console.print_written(path)
    if report.stopped:
        raise typer.Exit(INTERRUPTED if report.stopped == "stopped" else 1)


def _read_page(service: ServiceOptions, page: str, truth: Any, create: bool) -> Any:
    """The address of the service, and the outline of the page."""
    from slotwise.client import pages

    with service.client() as client:
        existing, _ = pages.fetch_page(client, page)
        if existing is None and create:
            pages.create_numbered_page(client, page, truth)
        return client.address, pages.outline(pages.fetch_existing_page(client, page))


def _save_charts(report: "LoadReport", at_random: float, paths: list[Path]) -> None:
    from slotwise.charts import learning_chart, save_chart

    title = f"Learning curve of page {report.page}"
    chart = learning_chart(report.learning_curve, at_random, title, [report.summary()])
    for path in paths:
        save_chart(chart, path)
