"""`slotwise pages pin|unpin|pause|resume|retire`: change one thing on a page of a running service."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._parsing import parse_time
from slotwise.cli._service_options import ServiceOptions
from slotwise.cli.pages import PageName, pages

PositionName = Annotated[str, typer.Argument(help="Name of the position.")]
ItemName = Annotated[str, typer.Argument(help="Name of the item.")]
ItemNames = Annotated[list[str], typer.Argument(metavar="ITEM...", help="Names of the items.")]
LayoutName = Annotated[str | None, typer.Option(help="Layout of the position; needed if the page has several.")]

if TYPE_CHECKING:
    from slotwise.client.page_edits import PinChange


@pages.command(
    epilog=options.examples(
        "slotwise pages pin shop top-left 'silk scarf'",
        "slotwise pages pin shop top-left 'silk scarf' --until 2030-12-24T18:00:00Z",
    )
)
@options.with_option_group
def pin(
    page: PageName,
    position: PositionName,
    item: ItemName,
    service: ServiceOptions,
    layout: LayoutName = None,
    start: Annotated[
        str | None, typer.Option("--from", help="When the pin begins to apply, as in 2030-12-01T00:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="When the pin ends, as in 2030-12-24T18:00:00Z.")] = None,
    as_json: options.Json = False,
) -> None:
    """Pin an item to a position: every visitor sees it there, whatever is learnt."""
    from slotwise.client import page_edits

    given = {"from": ("--from", start), "until": ("--until", until)}
    times = {key: parse_time(option, text) for key, (option, text) in given.items() if text is not None}
    with service.client() as client:
        change = page_edits.pin(client, page, position, item, layout, times)
    _print_pin(page, change, as_json)


@pages.command(epilog=options.examples("slotwise pages unpin shop top-left"))
@options.with_option_group
def unpin(
    page: PageName,
    position: PositionName,
    service: ServiceOptions,
    layout: LayoutName = None,
    as_json: options.Json = False,
) -> None:
    """Remove the pin of a position, so that the policy decides again what visitors see there."""
    from slotwise.client import page_edits

    with service.client() as client:
        change = page_edits.unpin(client, page, position, layout)
    _print_pin(page, change, as_json)


@pages.command(epilog=options.examples("slotwise pages pause shop 'straw hat' 'bow tie'"))
@options.with_option_group
def pause(page: PageName, items: ItemNames, service: ServiceOptions, as_json: options.Json = False) -> None:
    """Stop showing items for a while. What was learnt about them is kept."""
    _set_states(page, items, "paused", service, as_json)


@pages.command(epilog=options.examples("slotwise pages resume shop 'straw hat' 'bow tie'"))
@options.with_option_group
def resume(page: PageName, items: ItemNames, service: ServiceOptions, as_json: options.Json = False) -> None:
    """Show paused or retired items again."""
    _set_states(page, items, "active", service, as_json)


@pages.command(epilog=options.examples("slotwise pages retire shop 'felt slippers'"))
@options.with_option_group
def retire(page: PageName, items: ItemNames, service: ServiceOptions, as_json: options.Json = False) -> None:
    """Stop showing items for good. Their counts are kept, and `resume` brings them back."""
    _set_states(page, items, "retired", service, as_json)


def _set_states(page: str, items: list[str], state: str, service: ServiceOptions, as_json: bool) -> None:
    from slotwise.client import page_edits

    with service.client() as client:
        changes = page_edits.set_states(client, page, items, state)
    if as_json:
        print(json.dumps({"page": page, "items": [change._asdict() for change in changes]}, indent=2))
        return
    for item, before, after in changes:
        console.print_line(f"{item}: already {after}" if before == after else f"{item}: {before} -> {after}")


def _print_pin(page: str, change: "PinChange", as_json: bool) -> None:
    if as_json:
        print(json.dumps({"page": page, **change._asdict()}, indent=2))
        return
    where = f"{change.layout}/{change.position}"
    if change.before == change.after:
        console.print_line(
            f"{where}: nothing is pinned" if change.after is None else f"{where}: already {change.after}"
        )
    else:
        console.print_line(f"{where}: {change.before or 'no pin'} -> {change.after or 'no pin'}")
    if change.no_effect:
        console.print_note(f"{change.after} is {change.no_effect}, so its pin has no effect now")
