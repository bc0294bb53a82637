"""`slotwise store copy`: copy a store from SQLite to PostgreSQL, or back."""

import json
from typing import Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app

store = typer.Typer(help="Copy a store to another kind of store.", no_args_is_help=True)
app.add_typer(store, name="store")


@store.callback()
def group() -> None:
    """Copy a store to another kind of store."""


@store.command(epilog=options.examples("slotwise store copy sqlite:///shop.db postgresql:///shop"))
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Store to copy, as sqlite:///PATH or postgresql://...")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Store to create: an empty database, or a new file.")],
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Copy a store from SQLite to PostgreSQL or back, and check the copy. No service may run on either store.

    If the command is interrupted, the same command goes on where it was.
    """
    from slotwise.service.maintenance.store_copy.copy_store import copy_store

    with console.progress("copying", quiet) as report:
        copied = copy_store(source, target, report)
    if as_json:
        print(json.dumps(copied._asdict()))
    else:
        console.print_line(
            f"copied {copied.pages:,} pages, {copied.items:,} items, {copied.keys:,} keys, {copied.displays:,} "
            f"displays and {copied.events:,} events; both stores have the same rows, and the counts follow from the log"
        )
