"""`slotwise simulate`: policies against simulated visitors."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise import policies as policy_names
from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli._console import bars
from slotwise.cli._parsing import check_charts, entry, model_of, whole_text


@console.app.command(
    epilog="Examples: slotwise simulate --setting near-one --runs 100; "
    "slotwise simulate --policies pb_mhb,pb_mhb:width=10:sweeps=10 --chart out.svg; "
    "slotwise simulate --theta .3,.2,.1 --kappa 1,.5 --policies my_policy.py,uniform --json"
)
def simulate(
    policies: Annotated[
        str,
        typer.Option(
            help="Comma-separated policies, or 'all'. Each is a name or a .py file, with settings after colons: "
            "pb_mhb:width=10:reference=none."
        ),
    ] = "pb_mhb,uniform,oracle",
    setting: Annotated[
        str | None,
        typer.Option(help="A setting of the paper: standard (the default), near-zero, near-one, or q1 ... q19."),
    ] = None,
    theta: Annotated[str | None, typer.Option(help="Attractiveness of each item: .3,.2,.1")] = None,
    kappa: Annotated[str | None, typer.Option(help="Visibility of each position: 1,.5")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help='A JSON file with both: {"theta": [...], "kappa": [...]}, or a file of fits.'),
    ] = None,
    query: Annotated[str | None, typer.Option(help="Which query of a file of fits, when it has several.")] = None,
    rounds: Annotated[str, typer.Option(help="Rounds in each run; 1e5 is welcome.")] = "100000",
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    delay: Annotated[int, typer.Option(help="Learn each click this many rounds late.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    chart: Annotated[
        list[Path] | None,
        typer.Option(help="Draw the regret into a .svg, .png, .pdf, .html or .json; repeat for more."),
    ] = None,
    bound: Annotated[
        bool, typer.Option("--bound", help="Compute the regret lower bounds and draw their slopes as a guide.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Play policies against simulated visitors and compare their regret."""
    from slotwise.charts import regret_chart, save_chart
    from slotwise.simulation.simulate import simulate as play

    check_charts(chart)
    visitors, described = model_of(setting, theta, kappa, model, query)
    entries = [entry(text) for text in _listed(policies)]
    length = whole_text("--rounds", rounds)
    limits, remarks = _bounds(visitors) if bound else ({}, [])
    _warn_of_reference(entries, visitors)
    results = {}
    with bars(len(entries), quiet or as_json) as bar:
        for label, policy, params in entries:
            results[label] = play(
                policy,
                visitors,
                rounds=length,
                runs=runs,
                seed=seed,
                params=params,
                threads=threads,
                delay=delay,
                progress=bar(label, runs * length),
            )
    if chart:
        guides = {f"{name}, C = {constant:.3g}": constant for name, constant in limits.items()}
        heading = f"Cumulative regret, {described}"
        drawing = regret_chart(list(results.values()), list(results), title=heading, bounds=guides)
        for path in chart:
            save_chart(drawing, path)
    if as_json:
        answer: Any = [_summary(label, result) for label, result in results.items()]
        print(json.dumps({"results": answer, "bounds": limits, "remarks": remarks} if bound else answer, indent=2))
    else:
        _show(results, described)
        for name, constant in limits.items():
            console.screen.print(
                f"lower bound, {name}: regret grows at least like {constant:.4g} log t in the long run"
            )
        for remark in remarks:
            console.screen.print(escape(remark), highlight=False)
        for path in chart or []:
            console.screen.print(f"chart: {path}", highlight=False)


def _listed(text: str) -> list[str]:
    everything = sorted(policy_names(), key=lambda name: name != "pb_mhb")  # pb_mhb leads, the others stay sorted
    names = everything if text == "all" else [part.strip() for part in text.split(",")]
    if not all(names):
        raise BadInput(f"--policies = {text!r} has an empty name")
    if len(set(names)) < len(names):
        raise BadInput(f"--policies = {text!r} names a policy twice with the same settings")
    return names


def _warn_of_reference(entries: list[tuple[str, str, dict[str, Any]]], model: Any) -> None:
    """Say so when a policy takes the first position for the most visible one and it is not."""
    from slotwise.policies._contract import find

    if model.kappa[0] < model.kappa.max():
        for label, policy, params in entries:
            if "reference" in find(policy).Params._fields and params.get("reference", "first") == "first":
                told = f"{label} takes the first position for the most visible one, which it is not here: its regret"
                console.errors.print(
                    f"[yellow]note:[/] {escape(told)} is linear; say {policy}:reference=none", highlight=False
                )


def _bounds(model: Any) -> tuple[dict[str, float], list[str]]:
    """The regret lower bounds that the model has, and why it lacks one."""
    from slotwise.inference.bounds.bounds import known_kappa_bound, unknown_kappa_bound

    found, remarks = {}, []
    for name, compute in (("kappa known", known_kappa_bound), ("kappa unknown", unknown_kappa_bound)):
        try:
            found[name] = compute(model)
        except BadInput as error:
            remarks.append(f"no lower bound, {name}: {error}")
    return found, remarks


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


def _show(results: dict[str, Any], described: str) -> None:
    """The table, smallest regret first, with paired differences to pb_mhb, or else to the first policy asked for."""
    first_label = "pb_mhb" if "pb_mhb" in results else next(iter(results))
    first = results[first_label]
    table = Table(show_edge=False, title=f"{escape(described)}, {first.runs:,} runs of {first.rounds[-1]:,} rounds")
    table.add_column("policy", no_wrap=True)
    for heading in ("regret", "median", "95 %", f"minus {first_label}", "µs/round"):
        table.add_column(heading, justify="right")
    for label, result in sorted(results.items(), key=lambda pair: pair[1].mean()[-1]):
        middle, high = result.quantiles([0.5, 0.95])[:, -1]
        gap = result.difference(first)
        table.add_row(
            f"[bold]{escape(label)}[/]",
            _plus_minus(result.mean()[-1], result.standard_error()[-1]),
            _plus_minus(middle, math.nan),
            _plus_minus(high, math.nan),
            "" if result is first else _plus_minus(gap.mean[-1], gap.standard_error[-1]),
            f"{result.microseconds:.2f}",
        )
    console.screen.print(table)


def _plus_minus(value: float, error: float) -> str:
    digits = 0 if abs(value) >= 10_000 else 1  # so that the table fits 80 columns
    return f"{value:,.{digits}f}" if error != error else f"{value:,.{digits}f} ± {error:,.{digits}f}"
