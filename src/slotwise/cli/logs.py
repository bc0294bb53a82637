"""`slotwise logs`: count logs once for many fits, and write synthetic ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _log_options as given
from slotwise.cli._console import bars
from slotwise.cli._parsing import whole_text

if TYPE_CHECKING:
    from slotwise.logs.traffic import KnownQuery

logs = typer.Typer(help="Click logs: count them, or write synthetic ones.", no_args_is_help=True)
console.app.add_typer(logs, name="logs")


@logs.command(epilog="Example: slotwise logs count 'logs/*.csv.gz' --output cells.parquet")
def count(
    files: given.Files,
    output: Annotated[Path, typer.Option(help="Where to put the counts: a .parquet that slotwise fit reads.")],
    format: given.Format = None,
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
    max_bad: given.MaxBad = "0",
    engine: given.EngineName = "duckdb",
    master: given.Master = None,
    memory: given.Memory = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Count logs of any size into one line for each page, item and position, however many there are."""
    from slotwise.logs.cells import save_cells
    from slotwise.logs.read_log import CountOptions, count_log

    if output.suffix.lower() != ".parquet":
        raise BadInput(f"cannot write {str(output)!r}: the name must end in .parquet")
    with (
        bars(1, quiet) as bar,
        count_log(
            files,
            format,
            given.changes(columns, schema, positions, delimiter, quote, min_shown, min_items),
            CountOptions(
                where=given.filters(where, date, since, until),
                max_bad=given.tolerance(max_bad),
                engine=engine,
                memory=memory,
                master=master,
                progress=given.share(bar("counting", 1000)),
            ),
        ) as found,
    ):
        cells = save_cells(found, output)
        account = found.account
    given.told(account, quiet)
    console.screen.print(f"{account.good:,} lines make {cells:,} counts: {output}", highlight=False)


@logs.command(
    epilog="Examples: slotwise logs synth training.txt --format kdd2012 --lines 1e6; "
    "slotwise logs synth clicks.ndjson.gz --setting behavioral"
)
def synth(
    output: Annotated[Path, typer.Argument(help="The file to write; .gz, .zst or .bz2 in the end compresses it.")],
    format: Annotated[
        str | None,
        typer.Option(help="kdd2012, open-bandit, csv, tsv, ndjson or parquet; told by the name if you do not say."),
    ] = None,
    lines: Annotated[str, typer.Option(help="How many lines; 2e7 is welcome.")] = "100000",
    pages: Annotated[int, typer.Option(help="How many queries, the k-th coming 1/k as often as the first.")] = 1000,
    items: Annotated[int, typer.Option(help="The most items of a query.")] = 20,
    positions: Annotated[int, typer.Option(help="Positions of each page; kdd2012 has 3.")] = 3,
    setting: Annotated[
        str | None,
        typer.Option(
            help="A setting of the paper, or behavioral for its eight queries, instead of many: every item is shown "
            "equally often everywhere, and a query gets its share of the lines."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed writes the same file.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
) -> None:
    """Write a log of simulated visitors whose attractiveness and visibility are known."""
    from slotwise.logs.log_files import find_format
    from slotwise.logs.synthetic import synth as write
    from slotwise.logs.traffic import ExactTraffic, Traffic, ZipfTraffic

    size, kind = whole_text("--lines", lines), format or find_format(str(output))
    traffic: Traffic = (
        ExactTraffic(_known(setting, size)) if setting else ZipfTraffic(size, pages, items, positions, seed)
    )
    with bars(1, quiet) as bar:
        written = write(output, traffic, kind, seed, bar(str(output), traffic.size))
    console.screen.print(f"{written:,} lines: {output}", highlight=False)


def _known(name: str, lines: int) -> "list[KnownQuery]":
    """The pages of a setting, each cell shown equally often, so that there are about as many lines."""
    import numpy as np

    from slotwise.logs.traffic import KnownQuery
    from slotwise.paper.settings import BEHAVIORAL, setting

    models = {query: setting(query) for query in (BEHAVIORAL if name == "behavioral" else [name])}
    views = max(lines // sum(model.theta.size * model.kappa.size for model in models.values()), 1)
    pages, first = [], 1
    for number, (query, model) in enumerate(models.items(), 1):
        page = int(query[1:]) if query[1:].isdigit() else number
        shape = (model.theta.size, model.kappa.size)
        pages.append(KnownQuery(page, range(first, first + model.theta.size), model, np.full(shape, views)))
        first += model.theta.size
    return pages
