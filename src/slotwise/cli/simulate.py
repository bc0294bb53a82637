"""`slotwise simulate`: policies on simulated visitors."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise import policies as policy_names
from slotwise.checks import BadInput, one_of
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._model_options import AnyModelOptions
from slotwise.cli._parsing import PolicyChoice, check_chart_paths, parse_policy, parse_whole_number

VIEWS = ("log", "linear", "ratio")


@app.command(
    epilog=options.examples(
        "slotwise simulate --setting near-one --runs 100",
        "slotwise simulate --policies pb_mhb,pb_mhb:width=10:sweeps=10 --chart out.svg",
        "slotwise simulate --policies pb_mhb,slot_ts --view ratio --chart ratio.svg",
        "slotwise simulate --policies examples/click_share.py,uniform --json",
        "slotwise simulate --theta .3,.2,.1 --kappa 1,.5 --rounds 1e6",
        "slotwise simulate --setting cascade --policies cascade_kl_ucb,pb_mhb",
        "slotwise simulate --clicks dcm --attraction .5,.2,.1 --termination .8,.6",
    )
)
@options.with_option_group
def simulate(
    *,
    policies: Annotated[
        str,
        typer.Option(
            help="Comma-separated policies, or 'all'. Each is a name or a .py file, with settings after colons: "
            "pb_mhb:width=10:reference=none."
        ),
    ] = "pb_mhb,uniform,oracle",
    click_model: AnyModelOptions,
    query: options.Query = None,
    rounds: Annotated[str, typer.Option(help="Rounds of each run; 1e5 is allowed.")] = "100000",
    runs: Annotated[int, typer.Option(help="Number of independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers.")] = 0,
    delay: Annotated[int, typer.Option(help="Learn each click this many rounds late.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Number of threads; by default one for each core.")] = None,
    chart: Annotated[list[Path] | None, options.chart_option("the regret")] = None,
    view: Annotated[
        str | None,
        typer.Option(
            help="What the chart shows against rounds: log (default; both axes logarithmic), linear (regret on a "
            "linear axis), or ratio (regret divided by that of pb_mhb, or else of the first policy)."
        ),
    ] = None,
    bound: Annotated[
        bool, typer.Option("--bound", help="Compute the regret lower bounds; charts show their slopes.")
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run policies on simulated visitors and compare their regret."""
    from slotwise.charts import save_chart
    from slotwise.simulation.simulate import simulate as run

    check_chart_paths(chart)
    _check_view(view, chart)
    visitors, described = click_model.choose(query)
    choices = [parse_policy(text) for text in _split_policies(policies, visitors)]
    length = parse_whole_number("--rounds", rounds)
    bounds, remarks = _bounds(visitors) if bound else ({}, [])
    _note_wrong_reference(choices, visitors)
    results = {}
    with console.progress_bars(len(choices), quiet or as_json) as add_bar:
        for label, policy, params in choices:
            results[label] = run(
                policy,
                visitors,
                rounds=length,
                runs=runs,
                seed=seed,
                params=params,
                threads=threads,
                delay=delay,
                progress=add_bar(label, runs * length),
            )
    if as_json:
        rows: Any = [_summary(label, result) for label, result in results.items()]
        print(json.dumps({"results": rows, "bounds": bounds, "remarks": remarks} if bound else rows, indent=2))
    else:
        _print_table(results, described)
        for name, constant in bounds.items():
            console.print_line(f"lower bound, {name}: regret grows at least like {constant:.4g} log t in the long run")
        for remark in remarks:
            console.print_line(remark)
    if chart:  # after the table, which a chart that cannot be drawn must not suppress
        drawing = _draw(results, described, view or "log", bounds)
        for path in chart:
            save_chart(drawing, path)
            console.print_written(path, as_json)


def _check_view(view: str | None, chart: list[Path] | None) -> None:
    if view is not None:
        one_of("view", view, VIEWS)
        if not chart:
            raise BadInput(f"--view {view} needs --chart")


def _draw(results: dict[str, Any], described: str, view: str, bounds: dict[str, float]) -> Any:
    from slotwise.charts import ratio_chart, regret_chart

    curves, labels = list(results.values()), list(results)
    if view == "ratio":
        baseline = _baseline(results)
        return ratio_chart(curves, labels, f"Regret divided by that of {baseline}, {described}", baseline)
    slopes = {f"{name}, C = {constant:.3g}": constant for name, constant in bounds.items()}
    title = f"Cumulative regret, {described}"
    return regret_chart(curves, labels, title=title, bounds=slopes, log_regret=view == "log")


def _baseline(results: dict[str, Any]) -> str:
    """The label that the others are compared with: pb_mhb, or the first policy if pb_mhb is not in the list."""
    return "pb_mhb" if "pb_mhb" in results else next(iter(results))


def _split_policies(text: str, visitors: Any) -> list[str]:
    """The texts of the policies. `all` stands for those that can learn from what these visitors reveal."""
    from slotwise.policies._policy_module import find, problem_with_visitors

    every_policy = sorted(policy_names(), key=lambda name: name != "pb_mhb")  # pb_mhb first, then alphabetically
    if text == "all":
        return [name for name in every_policy if problem_with_visitors(find(name), visitors) is None]
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadInput(f"--policies = {text!r} has an empty name")
    if len(set(names)) < len(names):
        raise BadInput(f"--policies = {text!r} names a policy twice with the same settings")
    return names


def _note_wrong_reference(choices: list[PolicyChoice], model: Any) -> None:
    """If the first position is not the most visible one, print a note for each policy that assumes that it is."""
    from slotwise.policies._policy_module import find

    if model.click_model == "pbm" and model.kappa[0] < model.kappa.max():
        for label, policy, params in choices:
            if "reference" in find(policy).Params._fields and params.get("reference", "first") == "first":
                console.print_note(
                    f"{label} assumes that the first position is the most visible one, which is wrong here: "
                    f"its regret is linear; use {policy}:reference=none"
                )


def _bounds(model: Any) -> tuple[dict[str, float], list[str]]:
    """The regret lower bounds of the model. For a bound that does not exist, the reason is returned instead."""
    from slotwise.inference.bounds.bounds import known_kappa_bound, unknown_kappa_bound

    if model.click_model != "pbm":
        return {}, [f"no lower bound: bounds exist for the PBM, not for {model.click_model}"]
    bounds, remarks = {}, []
    for name, compute in (("kappa known", known_kappa_bound), ("kappa unknown", unknown_kappa_bound)):
        try:
            bounds[name] = compute(model)
        except BadInput as error:
            remarks.append(f"no lower bound, {name}: {error}")
    return bounds, remarks


def _summary(label: str, result: Any) -> dict[str, Any]:
    return {
        "label": label,
        "policy": result.policy,
        "params": result.params,
        "runs": result.runs,
        "rounds": result.rounds.tolist(),
        "regret": result.mean().tolist(),
        "standard_error": [None if value != value else value for value in result.standard_error().tolist()],
        "microseconds_per_round": result.microseconds,
    }


def _print_table(results: dict[str, Any], described: str) -> None:
    """Print regrets, the smallest first, and their paired differences from the regret of the baseline."""
    baseline_label = _baseline(results)
    baseline = results[baseline_label]
    table = Table(
        show_edge=False, title=f"{escape(described)}, {baseline.runs:,} runs of {baseline.rounds[-1]:,} rounds"
    )
    table.add_column("policy", no_wrap=True)
    for heading in ("regret", "median", "95 %", f"minus {baseline_label}", "µs/round"):
        table.add_column(heading, justify="right")
    for label, result in sorted(results.items(), key=lambda pair: pair[1].mean()[-1]):
        median, high = result.quantiles([0.5, 0.95])[:, -1]
        gap = result.difference(baseline)
        table.add_row(
            f"[bold]{escape(label)}[/]",
            _format_estimate(result.mean()[-1], result.standard_error()[-1]),
            _format_estimate(median, math.nan),
            _format_estimate(high, math.nan),
            "" if result is baseline else _format_estimate(gap.mean[-1], gap.standard_error[-1]),
            f"{result.microseconds:.2f}",
        )
    console.stdout.print(table)


def _format_estimate(value: float, error: float) -> str:
    digits = 0 if abs(value) >= 10_000 else 1  # so that the table fits 80 columns
    return f"{value:,.{digits}f}" if error != error else f"{value:,.{digits}f} ± {error:,.{digits}f}"
