"""`slotwise verify`: check a store, and recompute all counts from its log."""

import json

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app


@app.command(epilog=options.examples("slotwise verify --store sqlite:///shop.db"))
def verify(store: options.Store = options.DEFAULT_STORE, as_json: options.Json = False) -> None:
    """Check a store, recompute all counts from its log, and compare them.

    The exit code is 0 if nothing differs, 1 if anything differs, and 2 if the store cannot be read.
    """
    from slotwise.service.maintenance.verify import verify as recompute

    verdict = recompute(store)
    differences = verdict.differences
    if as_json:
        print(json.dumps(verdict._asdict()))
    else:
        result = f"{len(differences):,} difference" + "s" * (len(differences) != 1) if differences else "no difference"
        console.print_line(
            f"{verdict.displays:,} displays and {verdict.events:,} events give {verdict.cells:,} counts: {result}"
        )
        for line in differences:
            console.print_line(line)
    if differences:
        raise typer.Exit(1)
