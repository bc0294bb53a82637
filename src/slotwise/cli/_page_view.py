"""What `slotwise pages show` prints: the settings, the items that visitors see, the best items, and all items."""

from typing import Any

import msgspec
from rich.markup import escape
from rich.table import Column, Table

from slotwise.cli import _console as console
from slotwise.client.likely_display import likely_display
from slotwise.client.pages import pin_text, pinned_item, why_pin_is_ignored
from slotwise.inference.uplift.uplift import Uplift, describe_uplift
from slotwise.notebook import plural

UNKNOWN = "-"
_DURATIONS = ("click_window", "retention")  # settings in seconds
PageDict = dict[str, Any]
Place = tuple[str, str]  # (layout, position)


def print_page(page: PageDict, insights: PageDict | None, segment: str, verbose: bool) -> None:
    """Print a page with its insights, as the service returns them. `insights` is None if it cannot compute them now."""
    _print_settings(page)
    _print_source(insights, verbose)
    if insights is not None and page["mode"] == "learn":
        _print_uplift(page, insights["uplift"])
    if page["segments"]:
        whom = f"segment {segment}" if segment else "visitors without a segment (--segment shows another)"
        console.print_line(f"for {whom}:")
    _print_positions(page, insights or {}, segment)
    _print_shadow(page, insights or {}, segment)
    _print_pins_with_times(page)
    _print_items(page, insights or {}, segment)


def _print_settings(page: PageDict) -> None:
    settings = {
        key: value
        for key, value in page.items()
        if key not in ("page", "layouts", "items", "pins") and value not in ([], {}, None)
    }
    pairs = ", ".join(f"{key} {_format_setting(key, value)}" for key, value in settings.items())
    console.stdout.print(f"[bold]{escape(page['page'])}[/]: {escape(pairs)}")


def _format_setting(key: str, value: Any) -> str:
    if key not in _DURATIONS:
        return f"{value:,.10g}" if isinstance(value, float) else str(value)
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if value >= seconds and value % seconds == 0:
            return _format_number(value / seconds, unit)
    return f"{value:,.10g} seconds"


def _print_source(insights: PageDict | None, verbose: bool) -> None:
    """Print what the estimates were learnt from."""
    if insights is None:
        console.print_line("the service cannot compute estimates now")
        return
    variants = "; ".join(
        f"{row['variant']} {_format_number(row['displays'], 'display')}, {_format_number(row['clicks'], 'click')}"
        for row in insights["variants"]
    )
    learnt_from = f"learnt from {_format_number(insights['displays'], 'display')}"
    console.print_line(learnt_from + f" ({variants})" * bool(variants))
    if insights["note"]:
        console.print_line(insights["note"])
    if insights.get("template"):
        console.print_line(_template_line(insights["template"]))
    if verbose and insights.get("sampling"):
        console.print_line(insights["sampling"])


def _print_uplift(page: PageDict, uplift: PageDict) -> None:
    """Print what learning earns, in a sentence."""
    if not page["holdout"]:
        return
    baseline = "random order" if page["holdout_order"] == "random" else "the default order"
    console.print_line(describe_uplift(msgspec.convert(uplift, Uplift), "learnt", baseline))
    if uplift["realised"] is not None:
        console.print_line(f"{uplift['realised']:.0%} of the possible gain is realised")
    if uplift["displays_needed"]:
        console.print_line(f"about {uplift['displays_needed']:,} more displays until this is decided")


def _template_line(template: PageDict) -> str:
    """What the page shares, and whether a test found that it should not."""
    line = f"template {template['template']}: {plural(template['pages'], 'page')}, {template['displays']:,.0f} displays"
    if template["note"]:
        return f"{line}; {template['note']}"
    if template["kappas_differ"] is None:
        return f"{line}; too few clicks to test whether the visibilities differ between the pages"
    return f"{line}; a test finds no difference between the visibilities of the pages"


def _print_positions(page: PageDict, insights: PageDict, segment: str) -> None:
    kappas = {(row["layout"], row["position"]): row for row in insights.get("kappa", [])}
    observed = {(cell["layout"], cell["position"]) for cell in insights.get("counts", [])}
    shares = bool((insights.get("template") or {}).get("used"))  # then other pages tell the visibilities
    seen, best = _seen(page, insights, segment, observed), _best(insights, segment, observed)
    name_columns = ("layout", "position")[len(page["layouts"]) == 1 :]  # the name of an only layout says nothing
    columns = (Column("visibility", no_wrap=True), Column("visitors see"), Column("best without pins"))
    table = Table(*name_columns, *columns, show_edge=False)
    for layout, positions in page["layouts"].items():
        for position in positions:
            place = layout, position
            visibility = _format_estimate(kappas.get(place) if shares or place in observed else None, digits=2)
            cells = (*place[-len(name_columns) :], visibility, seen.get(place, UNKNOWN), best.get(place, UNKNOWN))
            table.add_row(*map(escape, cells))
    console.stdout.print(table)


def _print_shadow(page: PageDict, insights: PageDict, segment: str) -> None:
    """In shadow mode: what the mode `learn` would show, and what clicks do and do not determine."""
    shadow = insights.get("shadow")
    if not shadow:
        return
    observed = {(cell["layout"], cell["position"]) for cell in insights["counts"]}
    rows = [row for row in shadow["would_show"] if row["segment"] == segment]
    _print_places(page, "mode learn would show", _likely_items(rows, "probability", observed))
    products = [row for row in shadow["products"] if row["segment"] == segment]
    known = {(row["layout"], row["position"]): f"{row['item']} {_format_estimate(row)}" for row in products}
    _print_places(page, "attractiveness x visibility in default order", known)
    unlinked = {(row["layout"], row["position"]): "" for row in shadow["unlinked"]}
    _print_places(page, "clicks do not determine the visibility (what would be shown rests on the prior)", unlinked)


def _print_places(page: PageDict, title: str, texts: dict[Place, str]) -> None:
    """Print a line with the text of each position."""
    only = len(page["layouts"]) == 1
    named = [" ".join(filter(None, ("/".join(place[only:]), text))) for place, text in texts.items()]
    if named:
        console.print_line(f"{title}: {'; '.join(named)}")


def _seen(page: PageDict, insights: PageDict, segment: str, observed: set[Place]) -> dict[Place, str]:
    """The item that visitors see at each position. A learnt item is left out if its position has no counts."""
    if not insights:
        items = {row["item"]: row for row in page["items"]}
        pinned = {place: (pinned_item(pin), pin) for place, pin in _pins(page).items()}
        return {
            place: f"{item} (pinned)"
            for place, (item, pin) in pinned.items()
            if not why_pin_is_ignored(pin, items[item])
        }
    rows = [row for row in insights.get("shown", []) if row["segment"] == segment]
    reasons = {"pinned": "pinned", "default": "default order"}
    seen = {
        (row["layout"], row["position"]): f"{row['item']} ({reasons[row['reason']]})"
        for row in rows
        if row["reason"] in reasons
    }
    return _likely_items([row for row in rows if row["reason"] not in reasons], "share", observed) | seen


def _best(insights: PageDict, segment: str, observed: set[Place]) -> dict[Place, str]:
    """For each position that has counts: the item that is most likely the best one there."""
    rows = [row for row in insights.get("at_position", []) if row["segment"] == segment]
    return _likely_items(rows, "probability", observed)


def _likely_items(rows: list[PageDict], key: str, observed: set[Place]) -> dict[Place, str]:
    found = {}
    for layout in dict.fromkeys(row["layout"] for row in rows):
        probabilities = {(row["position"], row["item"]): row[key] for row in rows if row["layout"] == layout}
        for position, item in likely_display(probabilities).items():
            if (layout, position) in observed:
                found[layout, position] = f"{item} ({probabilities[position, item]:.0%})"
    return found


def _print_pins_with_times(page: PageDict) -> None:
    """Print the pins that have no effect now, and those that apply for a time only."""
    rows = {row["item"]: row for row in page["items"]}
    for (layout, position), pin in _pins(page).items():
        item = pinned_item(pin)
        reason, where = why_pin_is_ignored(pin, rows[item]), f"is pinned to {layout}/{position}"
        times = "" if isinstance(pin, str) else f" ({pin_text(pin)})"
        if reason:
            console.print_line(f"{item} {where}, without effect: it is {reason}{times}")
        elif times:
            console.print_line(f"{item} {where} for a time{times}")


def _pins(page: PageDict) -> dict[Place, Any]:
    return {(layout, position): pin for layout, pins in page["pins"].items() for position, pin in pins.items()}


def _print_items(page: PageDict, insights: PageDict, segment: str) -> None:
    thetas = {row["item"]: row for row in insights.get("theta", []) if row["segment"] == segment}
    numbers = (Column("attractiveness", no_wrap=True), Column("clicks", no_wrap=True), Column("skips", no_wrap=True))
    named = [key for key, usual in (("value", 1.0), ("category", None)) if any(r[key] != usual for r in page["items"])]
    table = Table("item", "state", *named, *numbers, show_edge=False)
    for row in page["items"]:
        cells = [cell for cell in insights.get("counts", []) if cell["item"] == row["item"]]
        sums = [f"{sum(cell[key] for cell in cells):,.0f}" if insights else "" for key in ("clicks", "skips")]
        informed = row["prior"] is not None or any(cell["segment"] == segment for cell in cells)
        theta = _format_estimate(thetas.get(row["item"]) if informed else None)
        terms = ["" if row[key] is None else _format_setting(key, row[key]) for key in named]
        table.add_row(*map(escape, (row["item"], row["state"], *terms, theta, *sums)))
    console.stdout.print(table)


def _format_number(number: float, noun: str) -> str:
    text = f"{number:,.0f}"
    return f"{text} {noun}" + "s" * (text != "1")


def _format_estimate(row: PageDict | None, digits: int = 3) -> str:
    """A mean with its interval.

    Callers pass None where nothing was counted, because the interval would then only repeat the prior.
    """
    if row is None or not row["ready"]:
        return UNKNOWN
    return f"{row['mean']:.{digits}f} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
