"""Read and create pages of a running service."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.checks import BadInput, one_of
from slotwise.client.http_client import HttpClient, error_detail, path_of
from slotwise.service.pages.limits import MOST_ROWS

if TYPE_CHECKING:
    from slotwise.clickmodels.pbm import PBM  # numba is slow to load, and most commands do not need it


class PageOutline(NamedTuple):
    """The items that a page may show now, the positions of its first layout, and the rules of its displays."""

    items: list[str]
    positions: list[str]
    values: list[float]
    categories: list[str | None]
    most_per_category: int | None


def page_names(client: HttpClient) -> list[str]:
    """The names of all pages."""
    return list(client.call("GET", "/v1/pages")["pages"])


def fetch_page(client: HttpClient, page: str) -> tuple[Any, str | None]:
    """A page and its ETag, or (None, None) if the page does not exist."""
    if not page:
        raise BadInput("the name of the page is empty")  # its path would be the path of the list of pages
    path = path_of("pages", page)
    reply = client.request("GET", path)
    if reply.status == 404:
        return None, None
    if reply.status != 200:
        raise BadInput(f"{client.address.url} refuses GET {path}: {error_detail(reply.body)}")
    return reply.body, reply.etag


def fetch_existing_page(client: HttpClient, page: str) -> Any:
    """A page. If it does not exist, this raises BadInput with the names of all pages."""
    definition, _ = fetch_page(client, page)
    return definition if definition is not None else one_of("page", page, page_names(client))


def outline(page: Any, now: float | None = None) -> PageOutline:
    """The outline of a page that `fetch_page` returned."""
    rows = [row for row in page["items"] if not why_not_shown(row, now)]
    return PageOutline(
        [row["item"] for row in rows],
        next(iter(page["layouts"].values())),
        [row["value"] for row in rows],
        [row["category"] for row in rows],
        page["most_per_category"],
    )


def why_not_shown(item: Any, now: float | None = None) -> str:
    """The reason why an item may not be shown now, such as "paused", or an empty string if it may be shown."""
    moment = time.time() if now is None else now
    if item["state"] != "active":
        return str(item["state"])
    if moment < (item["valid_from"] or 0.0):
        return "not valid yet"
    return "no longer valid" if item["valid_until"] is not None and moment >= item["valid_until"] else ""


def pinned_item(pin: Any) -> str:
    """The item of a pin, which is a name or, if it applies for a time only, an object."""
    return str(pin if isinstance(pin, str) else pin["item"])


def why_pin_is_ignored(pin: Any, item: Any, now: float | None = None) -> str:
    """The reason why a pin has no effect now, such as "paused", or an empty string. `item` is the row of its item."""
    moment = time.time() if now is None else now
    if not isinstance(pin, str):
        if moment < pin.get("from", 0.0):
            return "not pinned yet"
        if moment >= pin.get("until", float("inf")):
            return "no longer pinned"
    return why_not_shown(item, now)


def pin_text(pin: Any) -> str:
    """A pin as text, such as "hat, from 2026-12-01T00:00:00Z"."""
    if isinstance(pin, str):
        return pin
    times = [
        f"{key} {datetime.fromtimestamp(pin[key], UTC):%Y-%m-%dT%H:%M:%SZ}" for key in ("from", "until") if key in pin
    ]
    return ", ".join([pin["item"], *times])


def save_items(client: HttpClient, page: str, rows: list[dict[str, Any]]) -> None:
    """Add or change items, in batches of the largest size that the service accepts."""
    path = path_of("pages", page, "items:batch")
    for first in range(0, len(rows), MOST_ROWS):
        for result in client.call("POST", path, {"items": rows[first : first + MOST_ROWS]})["results"]:
            if result["status"] == "invalid":
                raise BadInput(f"{client.address.url} refuses item {result['item']!r}: {result['detail']}")


def create_numbered_page(client: HttpClient, page: str, model: "PBM") -> None:
    """Create a page for a click model, with items item1, item2, ... and positions position1, position2, ..."""
    positions = [f"position{k}" for k in range(1, model.kappa.size + 1)]
    client.call("PUT", path_of("pages", page), {"positions": positions})
    save_items(client, page, [{"item": f"item{k}"} for k in range(1, model.theta.size + 1)])
