"""What values, categories and units cost: recommendations of a page with them, compared with a page without them."""

import sys
from pathlib import Path

from benchmarks.epoll_client import encode_request
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from benchmarks.service import Turn, median, served, turn

ITEMS, CATEGORIES, MOST_PER_CATEGORY = 50, 8, 2
TURNS = 21
LEAST_THROUGHPUT = 0.95  # of the page without them
PLAIN, VALUED, WITH_UNIT = "plain", "values and categories", "values, categories and a unit"


def define_valued(server: RunningServer, page: str) -> None:
    """A page whose items have different values, in categories with a limit."""
    server.define(page, ITEMS)
    server.call("PATCH", f"/v1/pages/{page}", {"most_per_category": MOST_PER_CATEGORY, "holdout": 0.05})
    items = [
        {"item": f"item {k}", "value": 1.0 + k % 7, "category": f"category {k % CATEGORIES}"} for k in range(ITEMS)
    ]
    server.call("POST", f"/v1/pages/{page}/items:batch", {"items": items})


def recommending() -> list[Row]:
    """Both pages have a holdout of 5 %. Only the third kind of request has a unit."""
    with served() as server:
        server.define("plain", ITEMS)
        server.call("PATCH", "/v1/pages/plain", {"holdout": 0.05})
        define_valued(server, "valued")
        requests = {
            PLAIN: encode_request("/v1/pages/plain/recommendations", b"{}"),
            VALUED: encode_request("/v1/pages/valued/recommendations", b"{}"),
            WITH_UNIT: encode_request("/v1/pages/valued/recommendations", b'{"unit":"visitor-1234567"}'),
        }
        turns: dict[str, list[Turn]] = {name: [] for name in requests}
        for k in range(TURNS + 1):
            for name, request in requests.items():
                measured = turn(server, request)
                if k:  # the first turn warms up
                    turns[name].append(measured)
    rows = []
    for name in (VALUED, WITH_UNIT):
        pairs = list(zip(turns[name], turns[PLAIN], strict=True))
        throughput = median(plain.wall / measured.wall for measured, plain in pairs)
        loop = median(plain.loop / measured.loop for measured, plain in pairs)
        rows.append(Row(f"{name} / plain: throughput", throughput, "x", LEAST_THROUGHPUT, False))
        rows.append(Row(f"{name} / plain: 1 / processor time of the event loop", loop, "x"))
    return rows


def main() -> bool:
    return report("Values and categories", Path(__file__).stem, recommending())


if __name__ == "__main__":
    sys.exit(not main())
