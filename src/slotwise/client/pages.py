"""Pages of a running service, read and made."""

import time
from typing import Any, NamedTuple

from slotwise.checks import BadInput, known
from slotwise.clickmodels.pbm import PBM
from slotwise.client.http_client import Remote, path_of, refusal
from slotwise.service.pages.limits import MOST_ROWS


class Face(NamedTuple):
    """What visitors can see of a page: the items that may be shown, and the positions of its first layout."""

    items: list[str]
    positions: list[str]


def names(remote: Remote) -> list[str]:
    """The pages there are."""
    return list(remote.ok("GET", "/v1/pages")["pages"])


def read(remote: Remote, page: str) -> tuple[Any, str | None]:
    """A page and its ETag; (None, None) when there is no such page."""
    if not page:
        raise BadInput("the name of the page is empty")  # its path would be that of all pages
    path = path_of("pages", page)
    reply = remote.ask("GET", path)
    if reply.status == 404:
        return None, None
    if reply.status != 200:
        raise BadInput(f"{remote.address.url} refuses GET {path}: {refusal(reply.body)}")
    return reply.body, reply.etag


def existing(remote: Remote, page: str) -> Any:
    """A page that has to be there."""
    found, _ = read(remote, page)
    return found if found is not None else known("page", page, names(remote))


def face(page: Any, now: float | None = None) -> Face:
    """Of a page as it was read."""
    moment = time.time() if now is None else now
    items = [
        row["item"]
        for row in page["items"]
        if row["state"] == "active"
        and (row["valid_from"] or 0.0) <= moment
        and (row["valid_until"] is None or moment < row["valid_until"])
    ]
    return Face(items, next(iter(page["layouts"].values())))


def save_items(remote: Remote, page: str, rows: list[dict[str, Any]]) -> None:
    """Add or change items, as many at a time as a call takes."""
    path = path_of("pages", page, "items:batch")
    for first in range(0, len(rows), MOST_ROWS):
        for result in remote.ok("POST", path, {"items": rows[first : first + MOST_ROWS]})["results"]:
            if result["status"] == "invalid":
                raise BadInput(f"{remote.address.url} refuses item {result['item']!r}: {result['detail']}")


def create_numbered(remote: Remote, page: str, model: PBM) -> None:
    """A page with items item1, item2, ... and positions position1, position2, ... for this click model."""
    positions = [f"position{k}" for k in range(1, model.kappa.size + 1)]
    remote.ok("PUT", path_of("pages", page), {"positions": positions})
    save_items(remote, page, [{"item": f"item{k}"} for k in range(1, model.theta.size + 1)])
