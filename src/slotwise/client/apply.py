"""Apply a page file to a running service, and change only what differs."""

from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.client.http_client import HttpClient, error_detail, path_of
from slotwise.client.page_file import PageFile
from slotwise.client.page_plan import PagePlan, plan
from slotwise.client.pages import fetch_page, save_items


class Applied(NamedTuple):
    """The changes, and the items and pins that the page has but the file does not name. Each is one line of text."""

    changes: list[str]
    unnamed: list[str]


def apply(client: HttpClient, file: PageFile, exact: bool = False, dry_run: bool = False) -> Applied:
    """Define the page, its items and its pins. With `exact`, retire and unpin what the file does not name.

    With `dry_run`, nothing changes, and the result lists what would change.
    """
    before, etag = fetch_page(client, file.page)
    planned = plan(before, file, exact)
    if not dry_run:
        carry_out(client, file, planned, etag)
    return Applied(planned.lines, planned.unnamed)


def carry_out(client: HttpClient, file: PageFile, planned: PagePlan, etag: str | None) -> None:
    """Make the changes of a plan. `etag` is the ETag of the page that the plan was made for."""
    if planned.spec is not None:
        _save_settings(client, file, etag)
    rows = [{"item": name, **fields} for name, fields in planned.items.items()]
    save_items(client, file.page, rows)
    for name in planned.retired:
        client.call("DELETE", path_of("pages", file.page, "items", name))
    for layout, position in planned.unpinned:  # before pins are added, because an item has one pin per layout
        client.call("DELETE", path_of("pages", file.page, "pins", layout, position))
    for (layout, position), pin in planned.pinned.items():
        body = {"item": pin} if isinstance(pin, str) else pin
        client.call("PUT", path_of("pages", file.page, "pins", layout, position), body)


def _save_settings(client: HttpClient, file: PageFile, etag: str | None) -> None:
    reply = client.request(
        "PUT", path_of("pages", file.page), file.spec, **({} if etag is None else {"If_Match": etag})
    )
    if reply.status == 412:
        raise BadInput(f"page {file.page} was changed by another client in the meantime: try again")
    if reply.status >= 300:
        raise BadInput(f"{client.address.url} refuses page {file.page}: {error_detail(reply.body)}")
