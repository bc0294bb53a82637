"""A service that requires keys, and a website of another origin whose pages show displays of it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slotwise.client.keys import StoreKeys
from slotwise.service.maintenance.verify import verify
from tests.browser.website import Website, running_website
from tests.service.running_service import ITEMS, POSITIONS, Process, process

STRICT_POLICY = "default-src 'none'; img-src data:; script-src {service}; connect-src {service}"
PAGE = "shop"  # a display counts when it is viewed or clicked


class TrackedShop:
    """The service, the website, a browser key for it, and what the service recorded."""

    def __init__(self, service: Process, site: Website, key: str) -> None:
        self.service, self.site, self.key = service, site, key

    def display(self) -> dict[str, Any]:
        """A new display, which the server of the website requests."""
        return dict(self.service.http.post(f"/v1/pages/{PAGE}/recommendations").raise_for_status().json())

    def elements(self, display: dict[str, Any], style: str = "") -> str:
        """The HTML of a display."""
        links = [
            f'<a data-slotwise-position="{placed["position"]}" href="/items/{placed["item"]}">{placed["item"]}</a>'
            for placed in display["items"]
        ]
        attributes = f'data-slotwise-token="{display["token"]}"' + (f' style="{style}"' if style else "")
        return f"<div {attributes}>{' '.join(links)}</div>"

    def script(self, **settings: str) -> str:
        """The tag of the script, with these `data-` attributes."""
        attributes = " ".join(f'data-{name}="{value}"' for name, value in settings.items())
        return f'<script src="{self.service.address}/tracker.js" {attributes} defer></script>'

    def lines(self, token: str) -> list[dict[str, Any]]:
        """The log of the display with this token."""
        log, display = self.service.http.get(f"/v1/pages/{PAGE}/log").raise_for_status(), token.partition(".")[0]
        return [line for line in map(json.loads, log.text.splitlines()) if line["display"] == display]

    def clicked(self, token: str) -> list[str]:
        return [line["position"] for line in self.lines(token) if line["clicked"]]

    def items(self, token: str) -> dict[str, str]:
        return {line["position"]: line["item"] for line in self.lines(token)}

    def counts(self, token: str) -> bool:
        """Whether the display was viewed or clicked."""
        return any(line["shown"] for line in self.lines(token))

    def events(self) -> dict[str, float]:
        """How many events of the page had each status."""
        start = f'slotwise_events_total{{page="{PAGE}",status="'
        rows = [
            line.removeprefix(start) for line in self.service.http.get("/metrics").text.splitlines() if start in line
        ]
        return {status: float(count) for status, _, count in (row.partition('"} ') for row in rows)}


@contextmanager
def running_shop(folder: Path) -> Iterator[TrackedShop]:
    """A shop with a page of its own."""
    store = folder / "store.db"
    with running_website() as site, ThreadPoolExecutor(1) as pool:  # in this thread, Playwright runs an event loop
        limits = {"pages": [PAGE], "origins": [site.origin], "rate": 1e6}
        specs = {"name": "web", "scopes": ["browser"], **limits}, {"name": "admin", "scopes": ["admin"]}
        key, admin = (created["key"] for created in pool.map(StoreKeys(store).create, specs))
        with process(store, dev=False) as service:
            service.http.headers["authorization"] = f"Bearer {admin}"
            page = {"positions": POSITIONS, "count": "viewed"}
            service.http.put(f"/v1/pages/{PAGE}", json=page).raise_for_status()
            rows = [{"item": item} for item in ITEMS]
            service.http.post(f"/v1/pages/{PAGE}/items:batch", json={"items": rows}).raise_for_status()
            yield TrackedShop(service, site, key)
    assert verify(store).differences == []
