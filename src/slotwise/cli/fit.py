"""`slotwise fit`: attractiveness and visibility from click logs."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotwise.checks import BadInput, one_of
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._click_model_table import print_comparisons
from slotwise.cli._fit_table import print_fits
from slotwise.cli._log_options import LogOptions, print_account
from slotwise.cli._parsing import check_chart_paths, check_output_paths
from slotwise.extras import require

if TYPE_CHECKING:
    from slotwise.inference.click_model_comparison import ClickModelComparison
    from slotwise.inference.query_fit import QueryFit


@app.command(
    epilog=options.examples(
        "slotwise logs synth clicks.csv --setting behavioral",
        "slotwise fit clicks.csv",
        "slotwise fit 'clicks*.csv' --output fits.json --chart fits.svg",
        "slotwise logs synth ads.csv --format open-bandit --setting q10",
        "slotwise fit ads.csv --columns query=,item=item_id,clicked=click",
        "slotwise fit clicks.csv --template",
        "slotwise logs synth sessions.csv --clicks dcm",
        "slotwise fit sessions.csv --clicks auto --chart models.svg",
        "slotwise fit clicks.csv --where 'position<=2' --top 3 --method bayes",
    )
)
@options.with_option_group
def fit(
    log: LogOptions,
    method: Annotated[
        str,
        typer.Option(
            help="Method: em (maximum likelihood, with intervals), svd (the paper's, without) or bayes (posterior)."
        ),
    ] = "em",
    template: Annotated[
        bool,
        typer.Option(
            "--template", help="Queries with the same positions share their kappas; a test says if they differ."
        ),
    ] = False,
    clicks: Annotated[
        str | None,
        typer.Option(
            help="Fit a click model to whole displays: pbm, cascade, dcm, sdbn, dbn, ubm, or auto (compares them); "
            "or one for other pages: conjunctive, rank1. The log needs a column of displays: --columns display=COLUMN."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that an interval contains the true value.")] = 0.9,
    top: Annotated[
        int | None, typer.Option(help="Fit only this many queries, those with the most displays; by default all.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(help="Save the fits as .json, for slotwise simulate --model, or as .parquet; repeat for both."),
    ] = None,
    chart: Annotated[list[Path] | None, options.chart_option("the fits")] = None,
    seed: Annotated[int, typer.Option(help="Seed of bayes; the same seed gives the same numbers.")] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit theta and kappa for every query of click logs of any size."""
    require("logs", "slotwise fit")
    from slotwise.inference.click_model_comparison import check_clicks
    from slotwise.inference.fit_files import SUFFIXES, save_fits
    from slotwise.inference.fit_queries import METHODS, fit_queries
    from slotwise.logs.read_log import read_log
    from slotwise.logs.read_sessions import read_sessions

    check_chart_paths(chart)
    check_output_paths(output, SUFFIXES, "fits")
    if one_of("method", method, METHODS) == "bayes" and template:
        raise BadInput("--template cannot be used with --method bayes; use em or svd")
    if clicks is not None:
        check_clicks(clicks)
    read: Any = read_log if clicks is None else read_sessions
    with console.progress_bars(2, quiet or as_json) as add_bar:
        counted = read(**log.source(), **log.count_options(add_bar)._asdict(), top=top)
        progress = add_bar(f"fitting {method}", len(counted.queries))
        settings: Any = {"seed": seed, "progress": progress, "template": template, "clicks": clicks}
        fits = fit_queries(counted.queries, method, level, **settings)
    for path in output or []:
        save_fits(fits, path)
    _save_charts(fits, chart)
    account = counted.account
    print_account(account, quiet)
    if as_json:
        print(json.dumps(_summary(account, fits), indent=2))
        return
    queries = f"{len(fits):,} {'query' if len(fits) == 1 else 'queries'}"
    console.print_line(f"{account.good:,} lines, {queries}, fitted by {method}")
    print_fits(fits)
    if clicks is not None:
        print_comparisons(fits, counted.left_out)
    for path in [*(output or []), *(chart or [])]:
        console.print_written(path)


def _save_charts(fits: "list[QueryFit]", paths: list[Path] | None) -> None:
    from slotwise.charts import click_model_chart, fit_chart, save_chart

    if paths:
        compared = any(fit.comparison is not None for fit in fits)
        chart = click_model_chart(fits) if compared else fit_chart(fits)
        for path in paths:
            save_chart(chart, path)


def _summary(account: Any, fits: "list[QueryFit]") -> dict[str, Any]:
    from slotwise.inference.fit_files import distinct_templates

    shared = distinct_templates(fits)
    numbers = {id(template): k for k, template in enumerate(shared)}
    lines = {"good": account.good, "left_out": account.left_out, "bad": sum(account.bad.values())}
    return {
        "lines": lines,
        "notes": account.notes() + account.warnings(),
        "templates": [_builtins(template) for template in shared],
        "queries": [_query_summary(fit, numbers.get(id(fit.template))) for fit in fits],
    }


def _builtins(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _query_summary(fit: "QueryFit", template: int | None) -> dict[str, Any]:
    def estimates(names: list[str], values: Any, intervals: Any) -> dict[str, Any]:
        rows = zip(names, values.tolist(), intervals.tolist(), strict=True)
        return {
            name: {"value": value, "interval": None if low != low else [low, high]} for name, value, (low, high) in rows
        }

    return {
        "query": fit.name,
        "displays": fit.displays,
        "clicks": fit.clicks,
        "theta": estimates(fit.items, fit.theta, fit.theta_interval),
        "kappa": estimates(fit.positions, fit.kappa, fit.kappa_interval),
        "identifiable": fit.identifiable,
        "template": template,
        "kappa_test": _builtins(fit.kappa_test),
        "warnings": fit.warnings,
        "comparison": None if fit.comparison is None else _comparison(fit.comparison),
    }


def _comparison(comparison: "ClickModelComparison") -> dict[str, Any]:
    """The comparison of click models. Infinite and unknown numbers are null."""
    scores = [_builtins(score) for score in comparison.scores]
    return {
        "model": comparison.chosen,
        "sure": comparison.sure,
        "tied": comparison.tied,
        "lead": _finite_or_none(comparison.lead),
        "verdict": comparison.verdict,
        "sessions": comparison.sessions,
        "several_clicks": comparison.several_clicks,
        "scores": [{name: _finite_or_none(value) for name, value in score.items()} for score in scores],
        "parameters": {
            group.kind: {
                name: {"value": value, "error": _finite_or_none(error), "interval": ends}
                for name, value, error, ends in zip(
                    group.names, group.values.tolist(), group.errors.tolist(), group.intervals.tolist(), strict=True
                )
            }
            for group in comparison.parameters
        },
    }


def _finite_or_none(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite_or_none(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
