"""`slotwise logs`: count logs once for many fits, and write synthetic logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.checks import BadInput, integer_at_least, one_of
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._log_options import LogOptions, print_account
from slotwise.cli._parsing import check_output_paths, parse_whole_number
from slotwise.extras import require

if TYPE_CHECKING:
    from slotwise.clickmodels._click_model import ClickModel
    from slotwise.logs.synthetic_traffic import KnownModel, KnownQuery

logs = typer.Typer(help="Count click logs, or write synthetic ones.", no_args_is_help=True)
app.add_typer(logs, name="logs")


@logs.command(epilog=options.examples("slotwise logs count 'clicks*.csv' --output cells.parquet"))
@options.with_option_group
def count(
    log: LogOptions,
    output: Annotated[Path, typer.Option(help="File for the counts, a .parquet that slotwise fit reads.")],
    quiet: options.Quiet = False,
) -> None:
    """Count logs of any size into one row for each query, item and position."""
    require("logs", "slotwise logs")
    from slotwise.logs.read_log import count_log
    from slotwise.logs.save_cells import save_cells

    check_output_paths([output], [".parquet"], "counts")
    with (
        console.progress_bars(1, quiet) as add_bar,
        count_log(**log.source(), options=log.count_options(add_bar)) as counted,
    ):
        cells = save_cells(counted, output)
        account = counted.account
    print_account(account, quiet)
    console.print_line(f"{account.good:,} lines make {cells:,} counts: {output}")


@logs.command(
    epilog=options.examples(
        "slotwise logs synth clicks.csv --setting behavioral",
        "slotwise logs synth clicks.ndjson.gz --lines 1e6",
        "slotwise logs synth sessions.csv --clicks dcm",
        "slotwise logs synth training.txt --format kdd2012 --lines 1e6",
    )
)
def synth(
    output: Annotated[Path, typer.Argument(help="File to write; a name that ends in .gz, .zst or .bz2 compresses it.")],
    format: Annotated[
        str | None,
        typer.Option(
            help="Format: kdd2012, open-bandit, csv, tsv, ndjson or parquet. By default the file name decides."
        ),
    ] = None,
    lines: Annotated[str, typer.Option(help="Number of lines; 2e7 is allowed.")] = "100000",
    queries: Annotated[
        int, typer.Option(help="Number of queries; the k-th is 1/k times as frequent as the first.")
    ] = 1000,
    items: Annotated[int, typer.Option(help="Largest number of items of a query.")] = 20,
    positions: Annotated[int, typer.Option(help="Positions of each query; kdd2012 has 3.")] = 3,
    setting: Annotated[
        str | None,
        typer.Option(
            help="Setting of the paper, or behavioral for its eight queries, instead of --queries random ones: "
            "every item is shown equally often at every position, and the lines are divided among the queries."
        ),
    ] = None,
    clicks: Annotated[
        str | None,
        typer.Option(
            help="Write whole displays of one query, for slotwise fit --clicks. The visitors are those of the setting "
            "cascade or dcm, or of a setting of the paper with pbm."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed writes the same file.")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write a log of simulated visitors whose attractiveness and visibility are known."""
    require("logs", "slotwise logs")
    from slotwise.logs.log_files import find_format
    from slotwise.logs.synthetic import synth as write
    from slotwise.logs.synthetic_traffic import ExactTraffic, SessionTraffic, Traffic, ZipfTraffic

    size, kind = parse_whole_number("--lines", lines), format or find_format(str(output))
    seed = integer_at_least("--seed", seed, least=0)
    traffic: Traffic
    if clicks is not None:
        traffic = SessionTraffic(_visitors(clicks, setting, kind), size)
    elif setting:
        traffic = ExactTraffic(_known(setting, size))
    else:
        numbers = {"queries": queries, "items": items, "positions": positions}
        checked = {name: integer_at_least(f"--{name}", number, least=1) for name, number in numbers.items()}
        traffic = ZipfTraffic(size, **checked, seed=seed)
    with console.progress_bars(1, quiet) as add_bar:
        written = write(output, traffic, kind, seed, add_bar(str(output), traffic.size))
    console.print_line(f"wrote {written:,} lines to {output}")
    if models := traffic.models():
        _save_truth(models, output, kind)


def _visitors(clicks: str, setting_name: str | None, format: str) -> "ClickModel":
    """The click model of `--clicks`. A position-based model may have another setting."""
    from slotwise.clickmodels._named_settings import NAMED_SETTINGS
    from slotwise.logs.formats import GENERIC_FORMATS
    from slotwise.paper.named_click_models import setting

    if format not in GENERIC_FORMATS:
        raise BadInput(f"--clicks writes whole displays, which a {format} log cannot say; use csv or parquet")
    if one_of("--clicks", clicks, ["pbm", "cascade", "dcm"]) == "pbm":
        return setting(setting_name or "standard")
    if setting_name is not None:
        raise BadInput(f"--setting is for --clicks pbm; --clicks {clicks} has its own setting")
    return NAMED_SETTINGS[clicks]


def _save_truth(models: "list[KnownModel]", output: Path, format: str) -> None:
    """Save the true theta and kappa beside the log, in the form of fits."""
    from slotwise.inference.fit_files import save_fits
    from slotwise.inference.true_fits import true_fits
    from slotwise.logs.log_files import COMPRESSED
    from slotwise.logs.schema import SINGLE_QUERY

    if format == "open-bandit":  # the whole log is one query
        if len(models) > 1:
            return  # several queries in one follow no position-based model
        models = [model._replace(query=SINGLE_QUERY) for model in models]
    name = output.with_suffix("") if output.suffix.lower() in COMPRESSED else output
    path = name.with_suffix(".truth.json")
    save_fits(true_fits(models), path)
    console.print_line(f"wrote the true theta and kappa to {path}")


def _known(name: str, lines: int) -> "list[KnownQuery]":
    """The queries of a setting. They have about `lines` displays in all, equally many per item and position."""
    import numpy as np

    from slotwise.logs.synthetic_traffic import KnownQuery
    from slotwise.paper.named_click_models import BEHAVIORAL, setting

    models = {query: setting(query) for query in (BEHAVIORAL if name == "behavioral" else [name])}
    views = max(lines // sum(model.theta.size * model.kappa.size for model in models.values()), 1)
    queries, first_item = [], 1
    for index, (query, model) in enumerate(models.items(), 1):
        number = int(query[1:]) if query[1:].isdigit() else index
        shape = (model.theta.size, model.kappa.size)
        items = range(first_item, first_item + model.theta.size)
        queries.append(KnownQuery(number, items, model, np.full(shape, views)))
        first_item += model.theta.size
    return queries
