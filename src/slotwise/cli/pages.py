"""`slotwise pages`: the pages of a running service."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.client.address import URL

UNKNOWN = "-"
MOST_LINES = 20  # changes that are printed one by one
pages = typer.Typer(help="Define and show the pages of a running service.", no_args_is_help=True)
app.add_typer(pages, name="pages")


@pages.command(epilog=options.examples("slotwise pages apply examples/shop.toml"))
def apply(
    file: Annotated[Path, typer.Argument(help="TOML file with the settings, items and pins of a page.")],
    url: options.Url = URL,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also retire items and remove pins that the file does not name.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Create or change a page as a file describes it, and list the changes. A second time changes nothing."""
    from slotwise.client.apply import apply as apply_file
    from slotwise.client.http_client import HttpClient
    from slotwise.client.page_file import read_page

    wanted = read_page(file)
    with HttpClient(url) as client:
        applied = apply_file(client, wanted, exact)
    if as_json:
        print(json.dumps({"page": wanted.page, **applied._asdict()}, indent=2))
        return
    if not applied.changes:
        console.print_line(f"page {wanted.page}: nothing to change")
    _print_lines(applied.changes)
    if applied.unnamed:
        console.print_line("on the page but not in the file, left as they are (--exact removes them):")
        _print_lines(applied.unnamed)


@pages.command("list", epilog=options.examples("slotwise pages list", "slotwise pages list --json"))
def list_pages(url: options.Url = URL, as_json: options.Json = False) -> None:
    """List the pages of the service."""
    from slotwise.client import pages as remote_pages
    from slotwise.client.http_client import HttpClient

    with HttpClient(url) as client:
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
def show(
    page: Annotated[str, typer.Argument(help="Name of the page.")],
    url: options.Url = URL,
    as_json: options.Json = False,
) -> None:
    """Show the settings, positions and items of a page, and what was learnt about them."""
    from slotwise.client import pages as remote_pages
    from slotwise.client.http_client import HttpClient, path_of

    with HttpClient(url) as client:
        content = remote_pages.fetch_existing_page(client, page)
        reply = client.request("GET", path_of("pages", page, "insights"))
    insights = reply.body if reply.status == 200 else None
    if as_json:
        print(json.dumps({**content, "insights": insights}, indent=2))
        return
    _print_settings(content, insights)
    _print_positions(content, insights or {})
    _print_items(content, insights or {})


def _print_settings(page: dict[str, Any], insights: dict[str, Any] | None) -> None:
    settings = {
        key: value
        for key, value in page.items()
        if key not in ("page", "layouts", "items", "pins") and value not in ([], {}, None)
    }
    pairs = ", ".join(
        f"{key} {value:,.10g}" if isinstance(value, float) else f"{key} {value}" for key, value in settings.items()
    )
    console.stdout.print(f"[bold]{escape(page['page'])}[/]: {escape(pairs)}")
    if insights is not None:
        variants = "; ".join(
            f"{row['variant']} {_format_number(row['displays'], 'display')}, {_format_number(row['clicks'], 'click')}"
            for row in insights["variants"]
        )
        learnt_from = f"learnt from {_format_number(insights['displays'], 'display')}"
        console.print_line(learnt_from + f" ({variants})" * bool(variants))
        if insights["note"]:
            console.print_line(insights["note"])


def _print_positions(page: dict[str, Any], insights: dict[str, Any]) -> None:
    kappas = {(row["layout"], row["position"]): row for row in insights.get("kappa", [])}
    observed = {(cell["layout"], cell["position"]) for cell in insights.get("counts", [])}
    best_items: dict[tuple[str, str], dict[str, Any]] = {}
    for row in insights.get("at_position", []):
        key = row["layout"], row["position"]
        if not row["segment"] and row["probability"] > best_items.get(key, {"probability": 0.0})["probability"]:
            best_items[key] = row
    table = Table("layout", "position", "visibility", "pinned", "most likely best", show_edge=False)
    for layout, positions in page["layouts"].items():
        for position in positions:
            key = layout, position
            best = best_items.get(key) if key in observed else None
            best_item = f"{best['item']} ({best['probability']:.0%})" if best else UNKNOWN
            visibility = _format_estimate(kappas.get(key) if key in observed else None)
            pinned = page["pins"].get(layout, {}).get(position, "")
            table.add_row(*map(escape, (layout, position, visibility, pinned, best_item)))
    console.stdout.print(table)


def _print_items(page: dict[str, Any], insights: dict[str, Any]) -> None:
    thetas = {row["item"]: row for row in insights.get("theta", []) if not row["segment"]}
    table = Table("item", "state", "attractiveness", "clicks", "skips", show_edge=False)
    for row in page["items"]:
        cells = [cell for cell in insights.get("counts", []) if cell["item"] == row["item"]]
        sums = [f"{sum(cell[key] for cell in cells):,.0f}" if insights else "" for key in ("clicks", "skips")]
        informed = row["prior"] is not None or any(not cell["segment"] for cell in cells)
        theta = _format_estimate(thetas.get(row["item"]) if informed else None)
        table.add_row(*map(escape, (row["item"], row["state"], theta, *sums)))
    console.stdout.print(table)


def _format_number(number: float, noun: str) -> str:
    text = f"{number:,.0f}"
    return f"{text} {noun}" + "s" * (text != "1")


def _format_estimate(row: dict[str, Any] | None) -> str:
    """A mean with its interval.

    Callers pass None where nothing was counted, because the interval would only reflect the prior.
    """
    if row is None or not row["ready"]:
        return UNKNOWN
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def _print_lines(lines: list[str]) -> None:
    for line in lines[:MOST_LINES]:
        console.print_line(f"  {line}")
    if len(lines) > MOST_LINES:
        console.print_line(f"  and {len(lines) - MOST_LINES:,} more")
