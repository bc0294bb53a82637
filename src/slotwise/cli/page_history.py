"""`slotwise pages history`: who changed a page of a running service, when and how."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._service_options import ServiceOptions
from slotwise.cli.pages import PageName, pages

Before = Annotated[int | None, typer.Option(min=1, help="Only changes with a lower number.")]


@pages.command(epilog=options.examples("slotwise pages history shop"))
@options.with_option_group
def history(
    page: PageName,
    service: ServiceOptions,
    before: Before = None,
    as_json: options.Json = False,
) -> None:
    """List the last 100 changes of a page's definition, with the key that each was made with."""
    from slotwise.client.http_client import path_of

    query = "" if before is None else f"?before={before}"
    with service.client() as client:
        found = client.call("GET", path_of("pages", page, "history") + query)
    print_history(found, as_json)


def print_history(found: dict[str, Any], as_json: bool) -> None:
    """Print changes, newest first."""
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for change in found["changes"]:
        console.print_line(_line(change))
    if found["next"] is not None:
        console.print_line(f"older changes: --before {found['next']}")


def _line(change: dict[str, Any]) -> str:
    time = datetime.fromtimestamp(change["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    author = change["name"] if change["key"] is None else f"{change['name']} ({change['key']})"
    sides = " -> ".join(json.dumps(change[side]) for side in ("before", "after"))
    return f"{change['number']}  {time} UTC  {author}  {change['action']} {change['subject']}: {sides}"
