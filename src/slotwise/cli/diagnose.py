"""`slotwise diagnose`: how well a sampler of the posterior does."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli._console import Bar, bars
from slotwise.cli._parsing import check_charts, entry, model_of, numbers, read_json, whole_text


@console.app.command(
    epilog="Examples: slotwise diagnose page.json --chart ranks.png; "
    "slotwise diagnose --setting standard --rounds 1e5 --sampler random_walk; "
    "slotwise diagnose counts.json --prior learnt --json"
)
def diagnose(
    file: Annotated[
        Path | None,
        typer.Argument(
            help='Counts: a saved page, saved Counts, or JSON with "clicks" and "skips", items x positions.'
        ),
    ] = None,
    setting: Annotated[
        str | None, typer.Option(help="Instead of a file: let a policy play in this setting of the paper.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help='Instead of a file: let a policy play on this model, {"theta", "kappa"} or a file of fits.'),
    ] = None,
    query: Annotated[str | None, typer.Option(help="Which query of a file of fits, when it has several.")] = None,
    policy: Annotated[
        str, typer.Option(help="Who plays with --setting or --model, as in slotwise simulate.")
    ] = "slot_ts",
    rounds: Annotated[str, typer.Option(help="How many rounds it plays; 1e5 is fine.")] = "10000",
    sampler: Annotated[
        str, typer.Option(help="mixing, random_walk (the paper's) or log_odds (its suggestion).")
    ] = "mixing",
    draws: Annotated[str, typer.Option(help="Draws in all; 1e4 is fine.")] = "4000",
    chains: Annotated[int, typer.Option(help="Chains, at least 2.")] = 4,
    thin: Annotated[str, typer.Option(help="Sweeps for each draw.")] = "1",
    prior: Annotated[str, typer.Option(help="Of theta: uniform, learnt, falling, or a,b of a Beta law.")] = "uniform",
    reference: Annotated[str, typer.Option(help="none, or first: kappa of the first position is 1.")] = "none",
    width: Annotated[float, typer.Option(help="Of the walks: steps are width / sqrt(displays) wide.")] = 100.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same draws.")] = 0,
    chart: Annotated[
        list[Path] | None, typer.Option(help="Draw rank plots: .svg, .png, .pdf, .html or .json; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Judge how well a sampler of the posterior does: effective samples, acceptance, agreement of chains."""
    from slotwise.charts import rank_chart, save_chart
    from slotwise.inference.sampling.diagnosis import diagnose as judge

    check_charts(chart)
    law: Any = tuple(numbers("--prior", prior)) if "," in prior else prior
    size, spacing = whole_text("--draws", draws), whole_text("--thin", thin)
    with bars(2, quiet or as_json) as bar:
        counts, named, described = _counts(file, setting, model, query, policy, rounds, bar)
        ticks = bar(sampler, chains)
        found = judge(counts, sampler, size, chains, spacing, law, reference, width, seed, named, ticks)
    if as_json:
        print(json.dumps(_diagnosis(found), indent=2))
    else:
        _show_diagnosis(found, described)
    for path in chart or []:
        save_chart(rank_chart(found, title=f"Ranks of each chain's draws, {described}"), path)
        if not as_json:
            console.screen.print(f"chart: {escape(str(path))}", highlight=False)


def _diagnosis(found: Any) -> dict[str, Any]:
    columns = ("mean", "error", "ess_bulk", "ess_tail", "r_hat")
    rows = [
        {"name": name} | {column: _told(getattr(found, column)[k]) for column in columns}
        for k, name in enumerate(found.names)
    ]
    return {
        "sampler": found.sampler,
        "sweeps": found.sweeps,
        "burn_in": found.burn_in,
        "seconds": found.seconds,
        "accepted": {kind: _told(share) for kind, share in found.accepted.items()},
        "worst": found.names[found.worst],
        "effective_per_sweep": _told(found.per_sweep),
        "effective_per_second": _told(found.per_second),
        "agree": found.agree,
        "variables": rows,
    }


def _told(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if math.isfinite(value) else None


def _show_diagnosis(found: Any, described: str, most: int = 20) -> None:
    """The variables with the fewest effective samples, and in words what that means."""
    order = sorted(range(len(found.names)), key=lambda k: (math.isnan(found.ess[k]), found.ess[k]))
    chains, each = found.draws.shape[:2]
    title = escape(f"{found.sampler}, {described}: {chains} chains of {each:,} draws")
    table = Table("variable", show_edge=False, title=title)
    for heading in ("mean", "± error", "ess bulk", "ess tail", "R-hat"):
        table.add_column(heading, justify="right")
    for k in order[:most]:
        told = [f"{found.mean[k]:.4g}"]
        if math.isnan(found.ess[k]):
            table.add_row(escape(found.names[k]), *told, "always 1" if found.mean[k] == 1.0 else "never moved")
            continue
        agreement = f"{found.r_hat[k]:.3f}" if found.r_hat[k] < 100.0 else "> 100"
        worth = [f"{found.ess_bulk[k]:,.0f}", f"{found.ess_tail[k]:,.0f}", agreement]
        table.add_row(escape(found.names[k]), *told, f"{found.error[k]:.2g}", *worth)
    console.screen.print(table)
    if len(order) > most:
        console.screen.print(f"and {len(order) - most:,} variables with more effective samples")
    worst = escape(found.names[found.worst])
    console.screen.print(
        f"worst: {worst}, {found.per_sweep:.2g} effective samples per sweep, {found.per_second:,.0f} per second",
        highlight=False,
    )
    shares = ", ".join(f"{kind} {_share(share)}" for kind, share in found.accepted.items())
    console.screen.print(f"steps that moved: {shares}", highlight=False)
    console.screen.print(f"the chains {found.verdict}", highlight=False)


def _share(share: float) -> str:
    return "none tried" if math.isnan(share) else f"{share:.1%}"


def _counts(
    file: Path | None,
    setting: str | None,
    model: Path | None,
    query: str | None,
    policy: str,
    rounds: str,
    bar: Bar,
) -> tuple[Any, Any, str]:
    """The counts that were asked for, the names of items and positions if any, and what to call them."""
    from slotwise.simulation.simulate import counts_after

    if sum(source is not None for source in (file, setting, model)) != 1:
        raise BadInput("give a file of counts, or --setting, or --model: one of the three")
    if query is not None and model is None:
        raise BadInput(f"--query {query!r} goes with --model, a file of fits")
    if file is not None:
        return *_read_counts(file), str(file)
    visitors, described = model_of(setting, None, None, model, query)
    _, name, params = entry(policy)
    length = whole_text("--rounds", rounds)
    counts = counts_after(name, visitors, length, params=params, progress=bar(policy, length))
    return counts, None, f"{described} after {length:,} rounds of {policy}"


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
        raise BadInput(f'{str(file)!r} must be a saved page, saved counts, or an object with "clicks" and "skips"')
    return Counts(content["clicks"], content["skips"], content.get("displays")), None
