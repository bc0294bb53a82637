"""`slotwise backup` and `slotwise restore`: copy a store to a file, and back."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app

if TYPE_CHECKING:
    from slotwise.service.maintenance.backup import Copied


_DUMP = (
    "PostgreSQL has its own tools: pg_dump --format=custom --file shop.dump ADDRESS copies a store while services run "
    "on it; pgBackRest also keeps every change since"
)
_LOAD = "pg_restore --dbname ADDRESS shop.dump restores what pg_dump wrote; then run slotwise verify"


@app.command(epilog=options.examples("slotwise backup shop-backup.db --store sqlite:///shop.db"))
def backup(
    file: Annotated[Path, typer.Argument(help="File for the backup. It is replaced when the backup is complete.")],
    store: options.Store = options.DEFAULT_STORE,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Copy a store to a file, while a service may run on the store, and check the copy."""
    from slotwise.service.maintenance.backup import back_up
    from slotwise.service.store.open_store import sqlite_path

    with console.progress("copying", quiet) as report:
        copied = back_up(sqlite_path(store, "slotwise backup", _DUMP), file, report)
    _print(copied, as_json)


@app.command(epilog=options.examples("slotwise restore shop-backup.db --store sqlite:///restored.db"))
def restore(
    file: Annotated[Path, typer.Argument(help="A file that slotwise backup wrote.")],
    store: options.Store = options.DEFAULT_STORE,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a store that exists.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Check a backup, and make it the store. No service may run on the store."""
    from slotwise.service.maintenance.backup import restore as restore_store
    from slotwise.service.store.open_store import sqlite_path

    with console.progress("restoring", quiet) as report:
        copied = restore_store(file, sqlite_path(store, "slotwise restore", _LOAD), replace, report)
    _print(copied, as_json)


def _print(copied: "Copied", as_json: bool) -> None:
    if as_json:
        print(json.dumps(copied._asdict()))
    else:
        console.print_line(
            f"wrote {copied.path}: {copied.n_bytes:,} bytes, {copied.displays:,} displays and {copied.events:,} events"
        )
