"""`slotwise logs export`: write the log of a store to a file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli.logs import logs


@logs.command(epilog=options.examples("slotwise logs export clicks.csv --store sqlite:///shop.db --page shop"))
def export(
    output: Annotated[Path, typer.Argument(help="File to write; its name ends in .ndjson, .csv or .parquet.")],
    store: options.Store = options.DEFAULT_STORE,
    page: Annotated[str | None, typer.Option(help="Only this page; by default all pages that are served.")] = None,
    since: Annotated[str | None, typer.Option(help="Only displays issued from this time on: 2026-11-18T08:00.")] = None,
    until: Annotated[str | None, typer.Option(help="Only displays issued before this time.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only this variant: learnt, holdout or default.")] = None,
) -> None:
    """Write the log of a store to a file, one line for each item of a display. A service may use the store."""
    from slotwise.service.log_export import LogFilter, export_log

    lines = LogFilter(page, variant=variant)
    if since is not None:
        lines = lines._replace(since=_time("--since", since))
    if until is not None:
        lines = lines._replace(until=_time("--until", until))
    console.print_line(f"wrote {output}: {export_log(store, output, lines):,} lines")


def _time(option: str, text: str) -> float:
    """Seconds since 1970. A time without an offset is in UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{option} {text} is not a time; write it like 2026-11-18T08:00, in UTC") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
