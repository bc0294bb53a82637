"""`slotwise diagnose`: the efficiency of a sampler of the posterior."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._parsing import (
    check_chart_paths,
    choose_model,
    parse_numbers,
    parse_policy,
    parse_whole_number,
    read_json,
)
from slotwise.extras import require

MOST_ROWS = 20


@dataclass(frozen=True)
class CountsSource:
    """The options that say where the counts come from: a file, or a policy run on a model."""

    file: Annotated[
        Path | None,
        typer.Argument(
            help='Counts: a saved page, saved Counts, or JSON with "clicks" and "skips", items x positions.'
        ),
    ] = None
    setting: Annotated[
        str | None, typer.Option(help="Instead of a file: run a policy in this setting of the paper.")
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(
            help="Instead of a file: run a policy on this model, a JSON file with theta and kappa or a file of fits."
        ),
    ] = None
    query: options.Query = None
    policy: Annotated[
        str, typer.Option(help="Policy to run with --setting or --model, written as in slotwise simulate.")
    ] = "slot_ts"
    rounds: Annotated[str, typer.Option(help="Rounds of that run; 1e5 is allowed.")] = "10000"

    def counts(self, add_bar: console.AddBar) -> tuple[Any, Any, str]:
        """The counts, the names of items and positions if they have names, and a description."""
        from slotwise.simulation.simulate import counts_after

        if sum(source is not None for source in (self.file, self.setting, self.model)) != 1:
            raise BadInput("exactly one source of counts is needed: a file, --setting or --model")
        if self.query is not None and self.model is None:
            raise BadInput(f"--query {self.query!r} needs --model with a file of fits")
        if self.file is not None:
            return *_read_counts(self.file), str(self.file)
        visitors, described = choose_model(self.setting, None, None, self.model, self.query)
        _, name, params = parse_policy(self.policy)
        length = parse_whole_number("--rounds", self.rounds)
        counts = counts_after(name, visitors, length, params=params, progress=add_bar(self.policy, length))
        return counts, None, f"{described} after {length:,} rounds of {self.policy}"


@app.command(
    epilog=options.examples(
        "slotwise diagnose examples/counts.json --chart ranks.png",
        "slotwise diagnose examples/counts.json --prior learnt --json",
        "slotwise diagnose --setting standard --rounds 1e5 --sampler random_walk",
    )
)
@options.with_option_group
def diagnose(
    *,
    source: CountsSource,
    sampler: Annotated[
        str, typer.Option(help="Sampler: mixing, random_walk (the paper's) or log_odds (the paper's suggestion).")
    ] = "mixing",
    draws: Annotated[str, typer.Option(help="Draws of all chains together; 1e4 is allowed.")] = "4000",
    chains: Annotated[int, typer.Option(help="Number of chains, at least 2.")] = 4,
    thin: Annotated[str, typer.Option(help="Sweeps for each draw.")] = "1",
    prior: Annotated[
        str, typer.Option(help="Prior of theta: uniform, learnt, falling, or a,b for a Beta(a, b) distribution.")
    ] = "uniform",
    reference: Annotated[str, typer.Option(help="none, or first: kappa of the first position is 1.")] = "none",
    width: Annotated[
        float, typer.Option(help="For random_walk and log_odds: their steps are width / sqrt(displays) wide.")
    ] = 100.0,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same draws.")] = 0,
    chart: Annotated[list[Path] | None, options.chart_option("rank plots")] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a sampler of the posterior: effective sample size, acceptance rates, R-hat."""
    require("diagnostics", "slotwise diagnose")
    from slotwise.charts import rank_chart, save_chart
    from slotwise.inference.sampling.diagnosis import diagnose as run_chains

    check_chart_paths(chart)
    law: Any = tuple(parse_numbers("--prior", prior)) if "," in prior else prior
    size, spacing = parse_whole_number("--draws", draws), parse_whole_number("--thin", thin)
    with console.progress_bars(2, quiet or as_json) as add_bar:
        counts, names, described = source.counts(add_bar)
        progress = add_bar(sampler, chains)
        diagnosis = run_chains(counts, sampler, size, chains, spacing, law, reference, width, seed, names, progress)
    if as_json:
        print(json.dumps(_summary(diagnosis), indent=2))
    else:
        _print_diagnosis(diagnosis, described)
    for path in chart or []:
        save_chart(rank_chart(diagnosis, title=f"Ranks of each chain's draws, {described}"), path)
        console.print_written(path, as_json)


def _summary(diagnosis: Any) -> dict[str, Any]:
    columns = ("mean", "error", "ess_bulk", "ess_tail", "r_hat")
    rows = [
        {"name": name} | {column: _json_number(getattr(diagnosis, column)[k]) for column in columns}
        for k, name in enumerate(diagnosis.names)
    ]
    return {
        "sampler": diagnosis.sampler,
        "sweeps": diagnosis.sweeps,
        "burn_in": diagnosis.burn_in,
        "seconds": diagnosis.seconds,
        "accepted": {kind: _json_number(share) for kind, share in diagnosis.accepted.items()},
        "worst": diagnosis.names[diagnosis.worst],
        "effective_per_sweep": _json_number(diagnosis.per_sweep),
        "effective_per_second": _json_number(diagnosis.per_second),
        "agree": diagnosis.agree,
        "variables": rows,
    }


def _json_number(value: float) -> float | None:
    """The number, or None for NaN and infinity, because JSON has neither."""
    return float(value) if math.isfinite(value) else None


def _print_diagnosis(diagnosis: Any, described: str) -> None:
    """Print the variables with the smallest effective sample size, acceptance rates, and whether the chains agree."""
    ess = diagnosis.ess
    order = sorted(range(len(diagnosis.names)), key=lambda k: (math.isnan(ess[k]), ess[k]))
    chains, draws = diagnosis.draws.shape[:2]
    title = escape(f"{diagnosis.sampler}, {described}: {chains} chains of {draws:,} draws")
    table = Table("variable", show_edge=False, title=title)
    for heading in ("mean", "± error", "ess bulk", "ess tail", "R-hat"):
        table.add_column(heading, justify="right")
    for k in order[:MOST_ROWS]:
        table.add_row(escape(diagnosis.names[k]), *_table_row(diagnosis, k))
    console.stdout.print(table)
    if len(order) > MOST_ROWS:
        console.print_line(f"and {len(order) - MOST_ROWS:,} variables with a larger effective sample size")
    console.print_line(
        f"smallest effective sample size: {diagnosis.names[diagnosis.worst]}, {diagnosis.per_sweep:.2g} per sweep, "
        f"{diagnosis.per_second:,.0f} per second"
    )
    rates = ", ".join(f"{kind} {_format_rate(rate)}" for kind, rate in diagnosis.accepted.items())
    console.print_line(f"accepted steps: {rates}")
    console.print_line(f"the chains {diagnosis.verdict}")


def _table_row(diagnosis: Any, k: int) -> list[str]:
    mean = f"{diagnosis.mean[k]:.4g}"
    if math.isnan(diagnosis.ess[k]):
        return [mean, "always 1" if diagnosis.mean[k] == 1.0 else "never moved"]
    r_hat = f"{diagnosis.r_hat[k]:.3f}" if diagnosis.r_hat[k] < 100.0 else "> 100"
    ess = [f"{diagnosis.ess_bulk[k]:,.0f}", f"{diagnosis.ess_tail[k]:,.0f}"]
    return [mean, f"{diagnosis.error[k]:.2g}", *ess, r_hat]


def _format_rate(rate: float) -> str:
    return "not used" if math.isnan(rate) else f"{rate:.1%}"


def _read_counts(file: Path) -> tuple[Any, Any]:
    from slotwise.counts import Counts
    from slotwise.recommender import Recommender

    content = read_json(file)
    kind = content.get("format") if isinstance(content, dict) else None
    if kind == "slotwise-recommender":
        page = Recommender.load(file)
        return page.counts, page.labels()
    if kind == "slotwise-counts":
        return Counts.load(file), None
    if not isinstance(content, dict) or not {"clicks", "skips"} <= content.keys():
        raise BadInput(
            f'{str(file)!r} is neither a saved page nor saved counts nor a JSON object with "clicks" and "skips"'
        )
    return Counts(content["clicks"], content["skips"], content.get("displays")), None
