"""`slotwise fit`: attractiveness and visibility from click logs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotwise.checks import BadInput, known
from slotwise.cli import _console as console
from slotwise.cli import _log_options as given
from slotwise.cli._console import bars
from slotwise.cli._fit_table import show_fits
from slotwise.cli._parsing import check_charts

if TYPE_CHECKING:
    from slotwise.inference.query_fit import QueryFit


@console.app.command(
    epilog="Examples: slotwise fit clicks.csv; slotwise fit training.txt --format kdd2012 --output fits.json; "
    "slotwise fit 'logs/*.parquet' --columns page=query,item=ad --where segment=mobile --chart fits.svg"
)
def fit(
    files: given.Files,
    format: given.Format = None,
    method: Annotated[str, typer.Option(help="em (most likely, with errors), svd (the paper's) or bayes.")] = "em",
    level: Annotated[float, typer.Option(help="The probability that an interval holds the truth.")] = 0.9,
    columns: given.Columns = None,
    schema: given.SchemaFile = None,
    positions: given.Positions = None,
    delimiter: given.Delimiter = None,
    quote: given.Quote = None,
    where: given.Where = None,
    date: given.Date = None,
    since: given.Since = None,
    until: given.Until = None,
    min_shown: given.MinShown = None,
    min_items: given.MinItems = None,
    top: Annotated[int | None, typer.Option(help="Fit only the queries with the most displays.")] = None,
    max_bad: given.MaxBad = "0",
    engine: given.EngineName = "duckdb",
    master: given.Master = None,
    memory: given.Memory = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(help="Save the fits as .json, for slotwise simulate --model, or as .parquet; repeat for both."),
    ] = None,
    chart: Annotated[
        list[Path] | None, typer.Option(help="Draw the fits into a .svg, .png, .pdf, .html or .json; repeat for more.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of bayes: the same seed gives the same numbers.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Fit theta and kappa for every query of click logs, small or huge."""
    from slotwise.inference.fit_files import save_fits
    from slotwise.inference.fit_queries import METHODS, fit_queries
    from slotwise.logs.read_log import read_log

    check_charts(chart)
    _check_outputs(output)
    known("method", method, METHODS)
    asked = given.changes(columns, schema, positions, delimiter, quote, min_shown, min_items)
    with bars(2, quiet or as_json) as bar:
        log = read_log(
            files,
            format,
            asked,
            where=given.filters(where, date, since, until),
            max_bad=given.tolerance(max_bad),
            top=top,
            engine=engine,
            memory=memory,
            master=master,
            progress=given.share(bar("counting", 1000)),
        )
        progress = bar(f"fitting {method}", len(log.queries))
        fits = fit_queries(log.queries, method, level, seed=seed, progress=progress)
    for path in output or []:
        save_fits(fits, path)
    _draw(fits, chart)
    given.told(log.account, quiet)
    if as_json:
        print(json.dumps(_summary(log.account, fits), indent=2))
        return
    lines = f"{log.account.good:,} lines, {len(fits):,} {'query' if len(fits) == 1 else 'queries'}, fitted by {method}"
    console.screen.print(lines, highlight=False)
    show_fits(fits)
    for path in [*(output or []), *(chart or [])]:
        console.screen.print(f"written: {path}", highlight=False)


def _check_outputs(output: list[Path] | None) -> None:
    """Said before the work is done, not after it."""
    from slotwise.inference.fit_files import SUFFIXES

    for path in output or []:
        if path.suffix.lower() not in SUFFIXES:
            raise BadInput(f"cannot save fits as {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
        if not path.parent.is_dir():
            raise BadInput(f"cannot write {str(path)!r}: the folder {str(path.parent)!r} does not exist")


def _draw(fits: "list[QueryFit]", chart: list[Path] | None) -> None:
    from slotwise.charts import fit_chart, save_chart

    if chart:
        drawing = fit_chart(fits)
        for path in chart:
            save_chart(drawing, path)


def _summary(account: Any, fits: "list[QueryFit]") -> dict[str, Any]:
    lines = {"good": account.good, "left_out": account.left_out, "bad": sum(account.bad.values())}
    return {"lines": lines, "notes": account.notes(), "queries": [_row(fit) for fit in fits]}


def _row(fit: "QueryFit") -> dict[str, Any]:
    def named(names: list[str], values: Any, ends: Any) -> dict[str, Any]:
        rows = zip(names, values.tolist(), ends.tolist(), strict=True)
        return {
            name: {"value": value, "interval": None if low != low else [low, high]} for name, value, (low, high) in rows
        }

    return {
        "query": fit.name,
        "displays": fit.displays,
        "clicks": fit.clicks,
        "theta": named(fit.items, fit.theta, fit.theta_interval),
        "kappa": named(fit.positions, fit.kappa, fit.kappa_interval),
        "identifiable": fit.identifiable,
        "warnings": fit.warnings,
    }
