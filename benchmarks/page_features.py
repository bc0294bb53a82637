"""What units, values and categories cost: recommendations with them, relative to recommendations without them."""

import json
from collections.abc import Callable
from itertools import count

import numpy as np

from benchmarks.epoll_client import encode_request, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from benchmarks.service import CONNECTIONS, median, served

N_ITEMS, REQUESTS, TURNS = 50, 500, 80  # many short turns: a slow phase of the machine affects all pages
LEAST_THROUGHPUT = 0.95
FEATURES = {"without": (False, False), "units": (True, False), "values": (False, True), "both": (True, True)}


def define(server: RunningServer, page: str, has_units: bool, has_values: bool) -> None:
    """A page. Its holdout is so small that the hashes of units are computed, but a holdout is not measured."""
    server.define(page, N_ITEMS)
    spec: dict[str, object] = {"holdout": 1e-4} if has_units else {}
    if has_values:
        items = [{"item": f"item {k}", "value": 1.0 + k % 5, "category": f"kind {k % 10}"} for k in range(N_ITEMS)]
        server.call("POST", f"/v1/pages/{page}/items:batch", {"items": items})
        spec["most_per_category"] = 2
    server.call("PATCH", f"/v1/pages/{page}", spec)


def requests(page: str, has_units: bool, numbers: "count[int]") -> Callable[[], bytes | None]:
    """Requests of different visitors, encoded before the measurement."""
    bodies = [json.dumps({"unit": f"visitor-{next(numbers):09}"} if has_units else {}) for _ in range(REQUESTS)]
    encoded = iter([encode_request(f"/v1/pages/{page}/recommendations", body.encode()) for body in bodies])
    return lambda: next(encoded, None)


def main() -> bool:
    rates: dict[str, list[float]] = {page: [] for page in FEATURES}
    micros: dict[str, list[float]] = {page: [] for page in FEATURES}  # of the event loop
    numbers = count()
    with served() as server:
        for page, (has_units, has_values) in FEATURES.items():
            define(server, page, has_units, has_values)
        for k in range(TURNS + 1):
            for page in FEATURES if k % 2 else reversed(FEATURES):
                before = server.loop_seconds()
                responses = send_requests(server.port, requests(page, FEATURES[page][0], numbers), CONNECTIONS)
                if k:  # the first turn warms up
                    rates[page].append(responses.rate)
                    micros[page].append(1e6 * (server.loop_seconds() - before) / REQUESTS)
    rows = [Row(f"recommendations, {page}", median(rates[page]), "/s") for page in FEATURES]
    for page in FEATURES:
        if page != "without":
            throughput = np.array(rates[page]) / rates["without"]
            processor = np.array(micros["without"]) / micros[page]
            rows.append(Row(f"{page} / without: throughput", median(throughput), "x", LEAST_THROUGHPUT, False))
            rows.append(Row(f"{page} / without: 1 / processor time of the event loop", median(processor), "x"))
    return report("Units, values and categories", "page_features", rows)


if __name__ == "__main__":
    raise SystemExit(not main())
