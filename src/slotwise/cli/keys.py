"""`slotwise keys create|list|revoke|rotate|history`: the keys of a store or of a running service."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._parsing import parse_duration, parse_list
from slotwise.cli._service_options import Key
from slotwise.cli.page_history import Before, print_history

if TYPE_CHECKING:
    from slotwise.client.keys import Keys

KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `slotwise keys list` shows it.")]
keys = typer.Typer(help="Create, list, revoke and rotate the keys of a service.", no_args_is_help=True)
app.add_typer(keys, name="keys")


@dataclass(frozen=True)
class KeysOptions:
    """The options that say where the keys are."""

    store: Annotated[
        str | None, typer.Option(help="Store of the service, as sqlite:///PATH; sqlite:///slotwise.db by default.")
    ] = None
    url: Annotated[str | None, typer.Option(help="Address of a running service, instead of its store.")] = None
    key: Key = None

    @contextmanager
    def open(self) -> "Iterator[Keys]":
        """The keys, until the block ends."""
        from slotwise.client.http_client import HttpClient
        from slotwise.client.keys import ServiceKeys, StoreKeys

        if self.url is None:
            yield StoreKeys(self.store or os.environ.get(options.STORE_VARIABLE) or options.DEFAULT_STORE)
            return
        if self.store is not None:
            raise BadInput("--store and --url exclude each other; use one of them")
        with HttpClient(self.url, self.key) as client:
            yield ServiceKeys(client)


@keys.command(
    epilog=options.examples(
        "slotwise keys create --store sqlite:///shop.db --name admin --scope admin",
        "slotwise keys create --name backend --scope serve,feedback --expires 90d",
    )
)
@options.with_option_group
def create(
    where: KeysOptions,
    name: Annotated[str, typer.Option(help="Name of the program or person that uses the key.")],
    scope: Annotated[str, typer.Option(help="What it allows: serve, feedback, read, admin, browser; with commas.")],
    pages: Annotated[str | None, typer.Option(help="Names of pages, with commas; all pages by default.")] = None,
    origins: Annotated[
        str | None, typer.Option(help="For browser: origins of web pages, with commas: https://shop.example")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="Valid for this long: 90d, 12h, 30m; by default always.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second, on each node; no limit by default.")] = None,
    as_json: options.Json = False,
) -> None:
    """Create a key, and print it. It is not shown again. Creates the store if there is none."""
    spec: dict[str, Any] = {"name": name, "scopes": parse_list("--scope", scope)}
    if pages is not None:
        spec["pages"] = parse_list("--pages", pages)
    if origins is not None:
        spec["origins"] = parse_list("--origins", origins)
    if expires is not None:
        spec["lifetime"] = parse_duration("--expires", expires)
    if rate is not None:
        spec["rate"] = rate
    with where.open() as known:
        _print_new(known.create(spec), as_json)


@keys.command("list", epilog=options.examples("slotwise keys list --store sqlite:///shop.db"))
@options.with_option_group
def list_keys(where: KeysOptions, as_json: options.Json = False) -> None:
    """List all keys, without the keys themselves."""
    with where.open() as known:
        rows = known.list()
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("id", "name", "scopes", "pages", "status", "expires", "last used", show_edge=False)
    for row in rows:
        pages = "all" if row["pages"] is None else ", ".join(row["pages"])
        cells = [row["id"], row["name"], ", ".join(row["scopes"]), pages, row["status"]]
        table.add_row(*map(escape, cells), _date(row["expires"]), _date(row["last_used"]))
    console.stdout.print(table)


@keys.command(epilog=options.examples("slotwise keys revoke 1f0c3a9be2d4 --store sqlite:///shop.db"))
@options.with_option_group
def revoke(id: KeyId, where: KeysOptions, as_json: options.Json = False) -> None:
    """Revoke a key: a running service refuses it within a second."""
    with where.open() as known:
        known.revoke(id)
    if as_json:
        print(json.dumps({"id": id, "status": "revoked"}))
    else:
        console.print_line(f"key {id} is revoked")


@keys.command(epilog=options.examples("slotwise keys rotate 1f0c3a9be2d4 --overlap 1d --store sqlite:///shop.db"))
@options.with_option_group
def rotate(
    id: KeyId,
    where: KeysOptions,
    overlap: Annotated[str, typer.Option(help="How long the old key stays valid: 7d, 12h, 0s.")] = "7d",
    as_json: options.Json = False,
) -> None:
    """Create a key with the same rights. The old one stays valid for a while, so that programs can change over."""
    seconds = parse_duration("--overlap", overlap)
    with where.open() as known:
        _print_new(known.rotate(id, seconds), as_json)
    if not as_json:
        console.print_note(f"the old key {id} stays valid for {overlap}")


@keys.command(epilog=options.examples("slotwise keys history --store sqlite:///shop.db"))
@options.with_option_group
def history(where: KeysOptions, before: Before = None, as_json: options.Json = False) -> None:
    """List the last 100 changes of keys, and the pages that were deleted for good, with their authors."""
    with where.open() as known:
        print_history(known.history(before), as_json)


def _print_new(new: dict[str, str], as_json: bool) -> None:
    if as_json:
        print(json.dumps(new))
    else:
        console.print_line(f"id:  {new['id']}\nkey: {new['key']}")
        console.print_note("this is the only time that the key is shown: store it in a safe place")


def _date(seconds: float | None) -> str:
    return "-" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
