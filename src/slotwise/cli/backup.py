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


@app.command(epilog=options.examples("slotwise backup shop-backup.db --store sqlite:///shop.db"))
def backup(
    file: Annotated[Path, typer.Argument(help="File for the backup. It is replaced when the backup is complete.")],
    store: options.Store = options.DEFAULT_STORE,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Copy a store to a file, while a service may run on the store, and check the copy."""
    from slotwise.service.maintenance.backup import back_up
    from slotwise.service.store.sqlite import path_of

    with console.progress("copying", quiet) as report:
        copied = back_up(path_of(store), file, report)
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
    from slotwise.service.store.sqlite import path_of

    with console.progress("restoring", quiet) as report:
        copied = restore_store(file, path_of(store), replace, report)
    _print(copied, as_json)


def _print(copied: "Copied", as_json: bool) -> None:
    if as_json:
        print(json.dumps(copied._asdict()))
    else:
        console.print_line(
            f"wrote {copied.path}: {copied.n_bytes:,} bytes, {copied.displays:,} displays and {copied.events:,} events"
        )
