"""`slotwise pages apply|list|show`: the pages of a running service."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._service_options import ServiceOptions

MOST_LINES = 20  # changes that are printed one by one
PageName = Annotated[str, typer.Argument(help="Name of the page.")]
pages = typer.Typer(help="Define, show and change the pages of a running service.", no_args_is_help=True)
app.add_typer(pages, name="pages")


@pages.command(
    epilog=options.examples(
        "slotwise pages apply examples/shop.toml --dry-run", "slotwise pages apply examples/shop.toml"
    )
)
@options.with_option_group
def apply(
    file: Annotated[Path, typer.Argument(help="TOML file with the settings, items and pins of a page.")],
    service: ServiceOptions,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Also retire items, remove pins and reset states that the file does not name."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing: list the changes, and exit with 1 if there are any.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Create or change a page as a file describes it, and list the changes. Running it again changes nothing."""
    from slotwise.client.apply import apply as apply_file
    from slotwise.client.page_file import read_page

    wanted = read_page(file)
    with service.client() as client:
        applied = apply_file(client, wanted, exact, dry_run)
    if as_json:
        print(json.dumps({"page": wanted.page, "dry_run": dry_run, **applied._asdict()}, indent=2))
    else:
        if not applied.changes:
            console.print_line(f"page {wanted.page}: nothing to change")
        elif dry_run:
            console.print_line(f"page {wanted.page} would change:")
        _print_lines(applied.changes, len(applied.changes) if dry_run else MOST_LINES)
        if applied.unnamed:
            console.print_line("on the page but not in the file, left as they are (--exact makes the page match):")
            _print_lines(applied.unnamed)
    if dry_run and applied.changes:
        raise typer.Exit(1)


@pages.command("list", epilog=options.examples("slotwise pages list", "slotwise pages list --json"))
@options.with_option_group
def list_pages(service: ServiceOptions, as_json: options.Json = False) -> None:
    """List the pages of the service."""
    from slotwise.client import pages as remote_pages

    with service.client() as client:
        existing = [remote_pages.fetch_existing_page(client, name) for name in remote_pages.page_names(client)]
    rows = [
        {
            "page": page["page"],
            "mode": page["mode"],
            "policy": page["policy"],
            "layouts": {name: len(positions) for name, positions in page["layouts"].items()},
            "active_items": sum(row["state"] == "active" for row in page["items"]),
        }
        for page in existing
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        console.print_line("no pages yet; create one with: slotwise pages apply page.toml")
    else:
        table = Table("page", "mode", "policy", "positions", "active items", show_edge=False)
        for row in rows:
            layouts = ", ".join(f"{name} {size}" for name, size in row["layouts"].items())
            table.add_row(
                *[escape(str(row[key])) for key in ("page", "mode", "policy")],
                escape(layouts),
                str(row["active_items"]),
            )
        console.stdout.print(table)


@pages.command(epilog=options.examples("slotwise pages show shop"))
@options.with_option_group
def show(
    page: PageName,
    service: ServiceOptions,
    segment: Annotated[
        str, typer.Option(help="Show what visitors of this segment see; by default those without one.")
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", help="Also say how the estimates were computed.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show what visitors see on a page now, what would be best without pins, and what was learnt about its items."""
    from slotwise.checks import one_of
    from slotwise.cli._page_view import print_page
    from slotwise.client import pages as remote_pages
    from slotwise.client.http_client import path_of

    with service.client() as client:
        content = remote_pages.fetch_existing_page(client, page)
        if segment:
            one_of("segment", segment, content["segments"])
        reply = client.request("GET", path_of("pages", page, "insights"))
    insights = reply.body if reply.status == 200 else None
    if as_json:
        print(json.dumps({**content, "insights": insights}, indent=2))
    else:
        print_page(content, insights, segment, verbose)


def _print_lines(lines: list[str], most: int = MOST_LINES) -> None:
    for line in lines[:most]:
        console.print_line(f"  {line}")
    if len(lines) > most:
        console.print_line(f"  and {len(lines) - most:,} more")
