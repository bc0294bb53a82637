"""The command line: one function for each command, each a few lines that call the library."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from slotwise import policies as policy_names
from slotwise.checks import BadInput
from slotwise.version import __version__

app = typer.Typer(
    name="slotwise",
    help="Learns from clicks alone which items to show in which position of a page.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
screen = Console()
errors = Console(stderr=True)


def main() -> None:
    """Run a command: bad input ends with one clear line and exit code 2, never with a traceback."""
    try:
        app()
    except BadInput as error:
        errors.print(f"[bold red]error:[/] {_escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("stopped")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing to tell anybody
        sys.exit(0)


@app.callback(invoke_without_command=True)
def common(version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False) -> None:
    """Options of slotwise itself."""
    if version:
        screen.print(__version__)
        raise typer.Exit


@app.command(epilog="Example: slotwise policies --json")
def policies(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False) -> None:
    """List the policies, what each does, and its settings with their defaults."""
    rows = [_describe(name) for name in policy_names()]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("policy", "what it does", "settings", show_edge=False)
    for row in rows:
        settings = ", ".join(f"{name}={value}" for name, value in row["params"].items())
        table.add_row(f"[bold]{row['name']}[/]", _escape(row["summary"]), _escape(settings))
    screen.print(table)


@app.command(
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
    model: Annotated[Path | None, typer.Option(help='A JSON file with both: {"theta": [...], "kappa": [...]}.')] = None,
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

    _check_charts(chart)
    visitors, described = _model(setting, theta, kappa, model)
    entries = [_entry(text) for text in _listed(policies)]
    length = _whole_text("--rounds", rounds)
    limits, remarks = _bounds(visitors) if bound else ({}, [])
    _warn_of_reference(entries, visitors)
    results = {}
    with _bars(len(entries), quiet or as_json) as bar:
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
            screen.print(f"lower bound, {name}: regret grows at least like {constant:.4g} log t in the long run")
        for remark in remarks:
            screen.print(_escape(remark), highlight=False)
        for path in chart or []:
            screen.print(f"chart: {path}", highlight=False)


@app.command(
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
        Path | None, typer.Option(help='Instead of a file: let a policy play on this fitted model, {"theta", "kappa"}.')
    ] = None,
    policy: Annotated[
        str, typer.Option(help="Who plays with --setting or --model, as in slotwise simulate.")
    ] = "slot_ts",
    rounds: Annotated[str, typer.Option(help="How many rounds it plays; 1e5 is fine.")] = "10000",
    sampler: Annotated[
        str, typer.Option(help="mixing, random_walk (the paper's) or log_odds (its suggestion).")
    ] = "mixing",
    draws: Annotated[int, typer.Option(help="Draws in all.")] = 4000,
    chains: Annotated[int, typer.Option(help="Chains, at least 2.")] = 4,
    thin: Annotated[int, typer.Option(help="Sweeps for each draw.")] = 1,
    prior: Annotated[str, typer.Option(help="Of theta: uniform, learnt, or a,b of a Beta law.")] = "uniform",
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
    from slotwise.inference.diagnosis import diagnose as judge

    _check_charts(chart)
    counts, items, positions, described = _counts(file, setting, model, policy, rounds)
    law: Any = tuple(_numbers("--prior", prior)) if "," in prior else prior
    with _bars(1, quiet or as_json) as bar:
        found = judge(
            counts, sampler, draws, chains, thin, law, reference, width, seed, items, positions, bar(sampler, chains)
        )
    for path in chart or []:
        save_chart(rank_chart(found, title=f"Ranks of each chain's draws, {described}"), path)
    if as_json:
        print(json.dumps(_diagnosis(found), indent=2))
        return
    _show_diagnosis(found, described)
    for path in chart or []:
        screen.print(f"chart: {path}", highlight=False)


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
    title = f"{found.sampler}, {described}: {chains} chains of {each:,} draws"
    table = Table("variable", show_edge=False, title=title)
    for heading in ("mean", "± error", "ess bulk", "ess tail", "R-hat"):
        table.add_column(heading, justify="right")
    for k in order[:most]:
        told = [f"{found.mean[k]:.4f}"]
        if math.isnan(found.ess[k]):
            table.add_row(_escape(found.names[k]), *told, "1 by convention" if found.mean[k] == 1.0 else "never moved")
            continue
        worth = [f"{found.ess_bulk[k]:,.0f}", f"{found.ess_tail[k]:,.0f}", f"{found.r_hat[k]:.3f}"]
        table.add_row(_escape(found.names[k]), *told, f"{found.error[k]:.4f}", *worth)
    screen.print(table)
    if len(order) > most:
        screen.print(f"and {len(order) - most:,} variables with more effective samples")
    worst = _escape(found.names[found.worst])
    screen.print(
        f"worst: {worst}, {found.per_sweep:.2g} effective samples per sweep, {found.per_second:,.0f} per second",
        highlight=False,
    )
    shares = ", ".join(f"{kind} {share:.1%}" for kind, share in found.accepted.items())
    screen.print(f"steps that moved: {shares}", highlight=False)
    verdict = "agree (every R-hat below 1.01)" if found.agree else "do not agree: these draws tell little"
    screen.print(f"the chains {verdict}", highlight=False)


def _counts(
    file: Path | None, setting: str | None, model: Path | None, policy: str, rounds: str
) -> tuple[Any, list[str] | None, list[str] | None, str]:
    """The counts that were asked for, the names of items and positions if any, and what to call them."""
    from slotwise.simulation.simulate import counts_after

    if sum(source is not None for source in (file, setting, model)) != 1:
        raise BadInput("give a file of counts, or --setting, or --model: one of the three")
    if file is not None:
        return *_read_counts(file), str(file)
    visitors, described = _model(setting, None, None, model)
    _, name, params = _entry(policy)
    length = _whole_text("--rounds", rounds)
    counts = counts_after(name, visitors, length, params=params)
    return counts, None, None, f"{described} after {length:,} rounds of {policy}"


def _read_counts(file: Path) -> tuple[Any, list[str] | None, list[str] | None]:
    from slotwise.counts import Counts
    from slotwise.recommender import Recommender

    content = _read_json(file)
    kind = content.get("format") if isinstance(content, dict) else None
    if kind == "slotwise-recommender":
        page = Recommender.load(file)
        return page.counts, page.all_items, page.positions
    if kind == "slotwise-counts":
        return Counts.load(file), None, None
    if not isinstance(content, dict) or not {"clicks", "skips"} <= content.keys():
        raise BadInput(f'{str(file)!r} must be a saved page, saved counts, or an object with "clicks" and "skips"')
    return Counts(content["clicks"], content["skips"], content.get("displays")), None, None


def _check_charts(chart: list[Path] | None) -> None:
    from slotwise.charts import SUFFIXES

    for path in chart or []:
        if path.suffix.lower() not in SUFFIXES:
            raise BadInput(f"cannot draw {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")


def _describe(name: str) -> dict[str, Any]:
    from slotwise.policies._contract import find

    module = find(name)
    defaults = {
        key: value.name.lower() if hasattr(value, "name") else value
        for key, value in module.Params._field_defaults.items()
        if key != "unused"
    }
    return {"name": name, "summary": (module.__doc__ or "").partition("\n")[0], "params": defaults}


def _model(setting: str | None, theta: str | None, kappa: str | None, file: Path | None) -> tuple[Any, str]:
    """The click model that was asked for, and what to call it."""
    from slotwise.clickmodels.pbm import PBM
    from slotwise.paper.settings import setting as named

    ways = [setting is not None, theta is not None or kappa is not None, file is not None]
    if sum(ways) > 1:
        raise BadInput("give one of --setting, --theta with --kappa, or --model, not several")
    if file is not None:
        return _read_model(file), str(file)
    if theta is None and kappa is None:
        name = setting or "standard"
        return named(name), f"{name} setting"
    if theta is None or kappa is None:
        raise BadInput("--theta and --kappa go together")
    return PBM(_numbers("--theta", theta), _numbers("--kappa", kappa)), "given theta and kappa"


def _read_model(file: Path) -> Any:
    from slotwise.clickmodels.pbm import PBM

    content = _read_json(file)
    if not isinstance(content, dict) or not {"theta", "kappa"} <= content.keys():
        raise BadInput(f'{str(file)!r} must hold an object with "theta" and "kappa"')
    return PBM(content["theta"], content["kappa"])


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {str(file)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(file)!r} is not JSON: {error}") from None


def _warn_of_reference(entries: list[tuple[str, str, dict[str, Any]]], model: Any) -> None:
    """Say so when a policy takes the first position for the most visible one and it is not."""
    from slotwise.policies._contract import find

    if model.kappa[0] < model.kappa.max():
        for label, policy, params in entries:
            if "reference" in find(policy).Params._fields and params.get("reference", "first") == "first":
                told = f"{label} takes the first position for the most visible one, which it is not here: its regret"
                errors.print(
                    f"[yellow]note:[/] {_escape(told)} is linear; say {policy}:reference=none", highlight=False
                )


def _bounds(model: Any) -> tuple[dict[str, float], list[str]]:
    """The regret lower bounds that the model has, and why it lacks one."""
    from slotwise.inference.bounds import known_kappa_bound, unknown_kappa_bound

    found, remarks = {}, []
    for name, compute in (("kappa known", known_kappa_bound), ("kappa unknown", unknown_kappa_bound)):
        try:
            found[name] = compute(model)
        except BadInput as error:
            remarks.append(f"no lower bound, {name}: {error}")
    return found, remarks


def _listed(text: str) -> list[str]:
    everything = sorted(policy_names(), key=lambda name: name != "pb_mhb")  # pb_mhb leads, the others stay sorted
    names = everything if text == "all" else [part.strip() for part in text.split(",")]
    if not all(names):
        raise BadInput(f"--policies = {text!r} has an empty name")
    if len(set(names)) < len(names):
        raise BadInput(f"--policies = {text!r} names a policy twice with the same settings")
    return names


def _entry(text: str) -> tuple[str, str, dict[str, Any]]:
    """'pb_mhb:width=10' as (label, policy, params)."""
    policy, *settings = text.split(":")
    params = {}
    for part in settings:
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInput(f"{part!r} in {text!r} is not a setting; name=value is needed")
        params[name] = _value(value)
    label = Path(policy).stem if policy.endswith(".py") else policy
    return " ".join([label, *settings]), policy, params


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"{name} = {text!r} is not a list of numbers such as .3,.2,.1") from None


def _whole_text(name: str, text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        raise BadInput(f"{name} = {text!r} is not a whole number of at least 1") from None
    if not 1 <= number < 2**53 or number != int(number):
        raise BadInput(f"{name} = {text!r} is not a whole number of at least 1")
    return int(number)


@contextmanager
def _bars(count: int, quiet: bool) -> Iterator[Callable[[str, int], Callable[[int], None]]]:
    """Progress bars on stderr, one for each of `count` jobs; silent when stderr is not a terminal."""
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=errors, disable=quiet or not errors.is_terminal, transient=count > 8) as progress:

        def bar(label: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(_escape(label), total=total)
            return lambda done: progress.update(task, completed=done)

        yield bar


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
    table = Table(show_edge=False, title=f"{described}, {first.runs:,} runs of {first.rounds[-1]:,} rounds")
    table.add_column("policy", no_wrap=True)
    for heading in ("regret", "median", "95 %", f"minus {first_label}", "µs/round"):
        table.add_column(heading, justify="right")
    for label, result in sorted(results.items(), key=lambda pair: pair[1].mean()[-1]):
        middle, high = result.quantiles([0.5, 0.95])[:, -1]
        gap = result.difference(first)
        table.add_row(
            f"[bold]{_escape(label)}[/]",
            _plus_minus(result.mean()[-1], result.standard_error()[-1]),
            _plus_minus(middle, math.nan),
            _plus_minus(high, math.nan),
            "" if result is first else _plus_minus(gap.mean[-1], gap.standard_error[-1]),
            f"{result.microseconds:.2f}",
        )
    screen.print(table)


def _plus_minus(value: float, error: float) -> str:
    digits = 0 if abs(value) >= 10_000 else 1  # so that the table fits 80 columns
    return f"{value:,.{digits}f}" if error != error else f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
