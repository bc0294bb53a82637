"""`slotwise evaluate`: what another order or policy would have earned, estimated from a log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._evaluation_table import EvaluatedLog, evaluation_summary, print_evaluation
from slotwise.cli._log_options import (
    counting_bar,
    page_filters,
    parse_tolerance,
    print_account,
    print_independent_displays,
)
from slotwise.cli._parsing import check_chart_paths, parse_list, parse_policy
from slotwise.extras import require

if TYPE_CHECKING:
    from slotwise.checks import Floats
    from slotwise.logs.display_cells import DisplayCells


@app.command(
    epilog=options.examples(
        "slotwise evaluate log.ndjson --order hat,scarf,bag",
        "slotwise evaluate log.ndjson --policy slot_ts --chart evaluation.svg",
        "slotwise evaluate log.ndjson --page shop --order hat,scarf,bag --json",
    )
)
def evaluate(
    files: Annotated[list[str], typer.Argument(help="Logs that the service exported, as NDJSON or Parquet.")],
    order: Annotated[
        str | None, typer.Option(help="Items to show, one for each position in the order of the page: hat,scarf,bag.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Policy that chooses the displays, with settings: greedy, slot_ts:sweeps=2.")
    ] = None,
    page: Annotated[str | None, typer.Option(help="Page of the log; needed when the log has more than one.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Layout of the page; needed when the page has more than one.")
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="Displays to weight: holdout, learnt, default or all; by default the holdout, or all without one."
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Count only lines such as segment=mobile; repeat to combine.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that an interval contains the true value.")] = 0.9,
    max_bad: Annotated[str, typer.Option(help="Malformed lines to tolerate: a number, or a share such as 0.1%.")] = "0",
    chart: Annotated[list[Path] | None, options.chart_option("the estimates")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the policy; the same seed gives the same numbers.")] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Estimate what another order or policy would have earned per display of a log."""
    require("logs", "slotwise evaluate")
    from slotwise.inference.estimation.fit import check_level
    from slotwise.inference.off_policy.log_evaluation import evaluate_on_log
    from slotwise.inference.off_policy.weighted_variant import choose_variant
    from slotwise.logs.display_cells import count_displays
    from slotwise.logs.opened_log import CountOptions

    if (order is None) == (policy is None):
        raise BadInput("give either --order or --policy: what is to be evaluated")
    check_chart_paths(chart)
    check_level(level)
    with console.progress_bars(1, quiet or as_json) as add_bar:
        filters = page_filters(page, layout, where)
        counted = count_displays(files, CountOptions(filters, parse_tolerance(max_bad), progress=counting_bar(add_bar)))
    print_account(counted.account, quiet)
    weighted = choose_variant(counted.cells, variant)
    shares = _shares(order, policy, counted.cells, weighted, seed)
    found = evaluate_on_log(counted, shares, weighted, level)
    target = found["clicks"].target
    if target.model is None:
        raise BadInput(f"the log cannot tell what {order or policy} earns: {target.cannot_tell}")
    evaluated = EvaluatedLog(counted.page, counted.layout, order or policy or "", weighted, level, found)
    _save_charts(evaluated, chart)
    if as_json:
        print(json.dumps(evaluation_summary(evaluated), indent=2))
        return
    print_evaluation(evaluated)
    if not counted.has_visitors:
        print_independent_displays()
    for path in chart or []:
        console.print_written(path)


def _shares(order: str | None, policy: str | None, cells: "DisplayCells", weighted: str, seed: int) -> "Floats":
    """The probability that the order or policy shows each item at each position."""
    from slotwise.inference.off_policy.target import order_shares
    from slotwise.inference.off_policy.weighted_variant import weighted_cells
    from slotwise.policy_target import policy_shares

    if order is not None:
        return order_shares(parse_list("--order", order), cells.items, cells.positions)
    choice = parse_policy(policy or "")
    return policy_shares(
        choice.policy, choice.params, weighted_cells(cells, weighted), cells.items, cells.positions, seed
    )


def _save_charts(evaluated: EvaluatedLog, paths: list[Path] | None) -> None:
    from slotwise.charts import evaluation_chart, save_chart

    if paths:
        earned = evaluated.found["clicks"]
        drawn = evaluation_chart(earned.logged, earned.target, evaluated.name, evaluated.level)
        for path in paths:
            save_chart(drawn, path)
