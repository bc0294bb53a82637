"""`slotwise pages`: the pages of a running service."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console
from slotwise.client.address import URL

NOT_KNOWN = "-"
MOST_LINES = 20  # of changes that are listed one by one
pages = typer.Typer(help="Define and look at the pages of a running service.", no_args_is_help=True)
console.app.add_typer(pages, name="pages")

Url = Annotated[str, typer.Option(help="The address of the service.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


@pages.command(epilog="Example: slotwise pages apply examples/shop.toml")
def apply(
    file: Annotated[Path, typer.Argument(help="A TOML file: settings, items and pins of a page.")],
    url: Url = URL,
    exact: Annotated[
        bool, typer.Option("--exact", help="Retire items and take away pins that the file does not name.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring a page to what a file says, and tell what changed; a second time changes nothing."""
    from slotwise.client.apply import apply as bring
    from slotwise.client.http_client import HttpClient
    from slotwise.client.page_file import read_page

    wanted = read_page(file)
    with HttpClient(url) as remote:
        applied = bring(remote, wanted, exact)
    if as_json:
        print(json.dumps({"page": wanted.page, **applied._asdict()}, indent=2))
        return
    if not applied.changes:
        console.screen.print(f"page {wanted.page}: nothing to change", highlight=False)
    _listed(applied.changes)
    if applied.unnamed:
        console.screen.print("on the page but not in the file, left as they are (--exact takes them away):")
        _listed(applied.unnamed)


@pages.command("list", epilog="Example: slotwise pages list --json")
def list_pages(url: Url = URL, as_json: Json = False) -> None:
    """List the pages."""
    from slotwise.client import pages as remote_pages
    from slotwise.client.http_client import HttpClient

    with HttpClient(url) as remote:
        found = [remote_pages.fetch_existing_page(remote, name) for name in remote_pages.page_names(remote)]
    rows = [
        {
            "page": page["page"],
            "mode": page["mode"],
            "policy": page["policy"],
            "layouts": {name: len(positions) for name, positions in page["layouts"].items()},
            "active_items": sum(row["state"] == "active" for row in page["items"]),
        }
        for page in found
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        console.screen.print("no pages yet: slotwise pages apply page.toml defines one", highlight=False)
    else:
        table = Table("page", "mode", "policy", "positions", "active items", show_edge=False)
        for row in rows:
            layouts = ", ".join(f"{name} {size}" for name, size in row["layouts"].items())
            table.add_row(
                *[escape(str(row[key])) for key in ("page", "mode", "policy")],
                escape(layouts),
                str(row["active_items"]),
            )
        console.screen.print(table)


@pages.command(epilog="Example: slotwise pages show shop")
def show(page: Annotated[str, typer.Argument(help="The page.")], url: Url = URL, as_json: Json = False) -> None:
    """Show a page: its settings, its positions and items, and what was learnt of them."""
    from slotwise.client import pages as remote_pages
    from slotwise.client.http_client import HttpClient, path_of

    with HttpClient(url) as remote:
        found = remote_pages.fetch_existing_page(remote, page)
        learnt = remote.request("GET", path_of("pages", page, "insights"))
    insights = learnt.body if learnt.status == 200 else None
    if as_json:
        print(json.dumps({**found, "insights": insights}, indent=2))
        return
    _show_settings(found, insights)
    _show_positions(found, insights or {})
    _show_items(found, insights or {})


def _show_settings(page: dict[str, Any], insights: dict[str, Any] | None) -> None:
    settings = {
        key: value
        for key, value in page.items()
        if key not in ("page", "layouts", "items", "pins") and value not in ([], {}, None)
    }
    told = ", ".join(
        f"{key} {value:,.10g}" if isinstance(value, float) else f"{key} {value}" for key, value in settings.items()
    )
    console.screen.print(f"[bold]{escape(page['page'])}[/]: {escape(told)}", highlight=False)
    if insights is not None:
        variants = "; ".join(
            f"{row['variant']} {_number(row['displays'], 'display')}, {_number(row['clicks'], 'click')}"
            for row in insights["variants"]
        )
        console.screen.print(
            f"{_number(insights['displays'], 'display')} learnt from" + f" ({variants})" * bool(variants),
            highlight=False,
        )
        if insights["note"]:
            console.screen.print(escape(insights["note"]), highlight=False)


def _show_positions(page: dict[str, Any], insights: dict[str, Any]) -> None:
    kappas = {(row["layout"], row["position"]): row for row in insights.get("kappa", [])}
    counted = {(cell["layout"], cell["position"]) for cell in insights.get("counts", [])}
    likely: dict[tuple[str, str], dict[str, Any]] = {}
    for row in insights.get("at_position", []):
        place = row["layout"], row["position"]
        if not row["segment"] and row["probability"] > likely.get(place, {"probability": 0.0})["probability"]:
            likely[place] = row
    table = Table("layout", "position", "visibility", "pinned", "most likely best", show_edge=False)
    for layout, positions in page["layouts"].items():
        for position in positions:
            place = layout, position
            best = likely.get(place) if place in counted else None
            words = f"{best['item']} ({best['probability']:.0%})" if best else NOT_KNOWN
            visibility = _estimate(kappas.get(place) if place in counted else None)
            table.add_row(*map(escape, (*place, visibility, page["pins"].get(layout, {}).get(position, ""), words)))
    console.screen.print(table)


def _show_items(page: dict[str, Any], insights: dict[str, Any]) -> None:
    thetas = {row["item"]: row for row in insights.get("theta", []) if not row["segment"]}
    table = Table("item", "state", "attractiveness", "clicks", "skips", show_edge=False)
    for row in page["items"]:
        cells = [cell for cell in insights.get("counts", []) if cell["item"] == row["item"]]
        sums = [f"{sum(cell[key] for cell in cells):,.0f}" if insights else "" for key in ("clicks", "skips")]
        told = row["prior"] is not None or any(not cell["segment"] for cell in cells)
        theta = _estimate(thetas.get(row["item"]) if told else None)
        table.add_row(*map(escape, (row["item"], row["state"], theta, *sums)))
    console.screen.print(table)


def _number(number: float, what: str) -> str:
    text = f"{number:,.0f}"
    return f"{text} {what}" + "s" * (text != "1")


def _estimate(row: dict[str, Any] | None) -> str:
    """With its interval; what nothing was counted for has one, too, but it tells nothing, so callers leave it out."""
    if row is None or not row["ready"]:
        return NOT_KNOWN
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def _listed(lines: list[str]) -> None:
    for line in lines[:MOST_LINES]:
        console.screen.print(f"  {escape(line)}", highlight=False)
    if len(lines) > MOST_LINES:
        console.screen.print(f"  and {len(lines) - MOST_LINES:,} more", highlight=False)
