"""`slotwise verify`: recompute all counts of a store from its log."""

import json
from typing import Annotated

import typer
from rich.markup import escape

from slotwise.cli import _console as console


@console.app.command(epilog="Example: slotwise verify --store sqlite:///shop.db")
def verify(
    store: Annotated[str, typer.Option(help="The store: sqlite:///PATH.")] = "sqlite:///slotwise.db",
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Recompute all counts of a store from its log, and compare; exit code 1 when something differs."""
    from slotwise.service.store.sqlite import path_of
    from slotwise.service.verify import verify as recompute

    verdict = recompute(path_of(store))
    if as_json:
        print(json.dumps(verdict._asdict()))
    else:
        console.screen.print(
            f"{verdict.displays:,} displays and {verdict.events:,} events give {verdict.cells:,} counts: "
            + ("no difference" if not verdict.differences else f"{len(verdict.differences)} differences"),
            highlight=False,
        )
        for line in verdict.differences:
            console.screen.print(escape(line), highlight=False)
    if verdict.differences:
        raise typer.Exit(1)
