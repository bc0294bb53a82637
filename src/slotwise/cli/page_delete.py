"""`slotwise pages delete`: archive a page of a running service, or delete it for good."""

import json
import sys
from typing import Annotated

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._service_options import ServiceOptions
from slotwise.cli.pages import PageName, pages


@pages.command(epilog=options.examples("slotwise pages delete shop", "slotwise pages delete shop --purge --yes"))
@options.with_option_group
def delete(
    page: PageName,
    service: ServiceOptions,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete the page for good, with its log, its counts and its history.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask for a confirmation.")] = False,
    as_json: options.Json = False,
) -> None:
    """Archive a page: it is not served any more, and `pages apply` brings it back. With --purge, delete it for good."""
    from urllib.parse import quote

    from slotwise.client.http_client import path_of

    if purge and not yes:
        _confirm(page)
    with service.client() as client:
        client.call("DELETE", path_of("pages", page) + (f"?purge={quote(page)}" if purge else ""))
    if as_json:
        print(json.dumps({"page": page, "purged": purge}))
    elif purge:
        console.print_line(f"page {page} is deleted; the service removes its data now")
        console.print_note("`slotwise keys history` says when all data are removed")
    else:
        console.print_line(f"page {page} is archived")


def _confirm(page: str) -> None:
    """Ask for the name of the page. Raises BadInput if another name is typed, or if there is no terminal."""
    if not sys.stdin.isatty():
        raise BadInput("--purge deletes the page and what it has learnt for good; confirm with --yes")
    typed = typer.prompt(f"This deletes the page {page} and what it has learnt for good. Type its name to confirm")
    if typed != page:
        raise BadInput(f"{typed!r} is not {page!r}, so nothing is deleted")
