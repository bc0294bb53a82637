"""What the commands that read logs have in common: their options, and how they become a schema and filters."""

from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console

Files = Annotated[
    list[str], typer.Argument(help="Log files, or globs in quotes: 'logs/*.csv.gz'. Parquet, NDJSON, CSV and TSV.")
]
Format = Annotated[
    str | None,
    typer.Option(
        help="What the files hold: kdd2012, open-bandit, slotwise (the service's log), csv, tsv, ndjson or parquet. "
        "Told by their names if you do not say."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Which columns to read: page=query,item=ad,position=slot,clicked=click. An empty page= for one page."
    ),
]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="The same and more in a TOML file.")]
Positions = Annotated[
    str | None,
    typer.Option(
        help="Names of the positions in order: hero,left,right; '*' for any. Numbers from 1 if you do not say."
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of CSV: ';', or tab.")]
Quote = Annotated[str | None, typer.Option(help="The quotes around fields of CSV, or none.")]
Where = Annotated[
    list[str] | None,
    typer.Option(help="Count only lines such as segment=mobile, depth>=2 or country!=fr; repeat for more."),
]
Date = Annotated[str | None, typer.Option(help="The column of dates, for --since and --until.")]
Since = Annotated[str | None, typer.Option(help="Count only lines from this date on: 2024-01-31.")]
Until = Annotated[str | None, typer.Option(help="Count only lines before this date.")]
MinShown = Annotated[
    int | None, typer.Option(help="Drop items shown fewer times than this at any position (kdd2012: 1000).")
]
MinItems = Annotated[int | None, typer.Option(help="Drop queries with fewer items than this left (kdd2012: 5).")]
MaxBad = Annotated[
    str, typer.Option(help="Malformed lines to tolerate: a number, or a share such as 0.1%. More of them stop the run.")
]
EngineName = Annotated[str, typer.Option("--engine", help="Where to count: duckdb, on this machine, or spark.")]
Master = Annotated[str | None, typer.Option(help="Spark's address: local[2], spark://host:7077, yarn.")]
Memory = Annotated[str | None, typer.Option(help="Memory for DuckDB (1GB); what does not fit goes to the disk.")]

_SEPARATORS = {"tab": "\t", "\\t": "\t", "none": ""}


def changes(
    columns: str | None,
    schema: Path | None,
    positions: str | None,
    delimiter: str | None,
    quote: str | None,
    min_shown: int | None,
    min_items: int | None,
) -> dict[str, Any]:
    """What the options change of the format's schema; an option beats the file."""
    from slotwise.logs.schema import from_toml

    found = from_toml(schema) if schema else {}
    found |= _columns(columns) if columns else {}
    if positions is not None:
        found["positions"] = [name.strip() for name in positions.split(",")]
    told = {"delimiter": delimiter, "quote": quote}
    found |= {name: _SEPARATORS.get(text, text) for name, text in told.items() if text is not None}
    numbers = {"min_shown": min_shown, "min_items": min_items}
    return found | {name: number for name, number in numbers.items() if number is not None}


def _columns(text: str) -> dict[str, str | None]:
    from slotwise.logs.schema import FIELDS

    found: dict[str, str | None] = {}
    for part in text.split(","):
        field, equals, column = (word.strip() for word in part.partition("="))
        if not equals or field not in FIELDS:
            raise BadInput(f"--columns {part!r} is not one of {', '.join(f'{name}=COLUMN' for name in FIELDS)}")
        found[field] = column or None
    return found


def filters(where: list[str] | None, date: str | None, since: str | None, until: str | None) -> list[Any]:
    """The filters that the options ask for."""
    from slotwise.logs.filters import between, parse

    if date is None and (since is not None or until is not None):
        raise BadInput("--since and --until need the column of dates: --date COLUMN")
    return [parse(text) for text in where or []] + (between(date, since, until) if date else [])


def tolerance(text: str) -> int | float:
    """'12' lines, or '0.1%' of them."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise BadInput(f"--max-bad {text!r} is not a number of lines such as 12, or a share such as 0.1%") from None
    if text.endswith("%"):
        if not 0 <= value < 100:
            raise BadInput(f"--max-bad {text!r} is not a share from 0% to below 100%")
        return value / 100.0
    if value < 0 or value != int(value):
        raise BadInput(f"--max-bad {text!r} is not a whole number of lines, nor a share such as 0.1%")
    return int(value)


def told(account: Any, quiet: bool) -> None:
    """On stderr, what was not counted: nothing is dropped in silence."""
    from rich.markup import escape

    if account.left_out and not quiet:
        console.errors.print(f"{account.left_out:,} of {account.lines:,} lines left out by filters", highlight=False)
    for line in account.notes():
        console.errors.print(f"[yellow]note:[/] {escape(line)}", highlight=False, soft_wrap=True)


def share(bar: Any) -> Any:
    """A bar of 1000 steps moved by shares."""
    return lambda done: bar(int(1000 * done))
