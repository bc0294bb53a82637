"""`slotwise pages export|import`: the counts of a page of a running service, to a file and back."""

import json
from pathlib import Path
from typing import Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._service_options import ServiceOptions
from slotwise.cli.pages import PageName, pages


@pages.command("export", epilog=options.examples("slotwise pages export shop shop.ndjson"))
@options.with_option_group
def export_page(
    page: PageName,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="File for the counts, as NDJSON.")],
    service: ServiceOptions,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Write the counts of a page to a file, from which `pages import` restores them."""
    from slotwise.client.state_file import export_state

    with service.client() as client, console.progress("exporting", quiet) as report:
        size = export_state(client, page, output, report)
    if as_json:
        print(json.dumps({"page": page, "file": str(output), "bytes": size}))
    else:
        console.print_line(f"wrote {output}: {size:,} bytes")


@pages.command(
    "import",
    epilog=options.examples("slotwise pages export shop shop.ndjson", "slotwise pages import shop shop.ndjson"),
)
@options.with_option_group
def import_page(
    page: PageName,
    file: Annotated[Path, typer.Argument(help="A file that `slotwise pages export` wrote.")],
    service: ServiceOptions,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Replace everything that a page has learnt by the counts in a file. The page must have their items."""
    from slotwise.client.state_file import import_state

    with service.client() as client, console.progress("importing", quiet) as report:
        import_state(client, page, file, report)
    if as_json:
        print(json.dumps({"page": page, "file": str(file)}))
    else:
        console.print_line(f"page {page} has the counts of {file}")
