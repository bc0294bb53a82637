"""`slotwise top` on a running service."""

import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.service.running_service import ITEMS, POSITIONS, Process, process


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("top") / "shop.db") as running:
        running.http.put("/v1/pages/shop", json={"positions": POSITIONS, "holdout": 0.5}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        running.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        yield running


def visit(server: Process, stop: threading.Event) -> None:
    with httpx.Client(base_url=server.address) as http:
        while not stop.wait(0.02):
            shown = http.post("/v1/pages/shop/recommendations", json={}).json()
            click = {"type": "click", "token": shown["token"], "position": "hero"}
            http.post("/v1/events", json={"events": [click]}).raise_for_status()


def test_a_view_has_rates_click_rates_latencies_store_and_ensembles(server: Process, slotwise) -> None:
    stop = threading.Event()
    visitors = threading.Thread(target=visit, args=(server, stop))
    visitors.start()
    try:
        result = slotwise("top", "--url", server.address, "--once", "--json", "--every", "1")
        text = slotwise("top", "--url", server.address, "--once", "--every", "0.5")
    finally:
        stop.set()
        visitors.join()
    view = json.loads(result.stdout)
    assert view["ready"] is True
    assert view["store"]["up"] is True
    assert view["store"]["commits_per_second"] > 0
    assert view["store"]["p99"] > 0
    assert view["ensembles"]["waiting"] >= 0
    routes = {row["route"]: row for row in view["routes"]}
    assert routes["recommend"]["per_second"] > 0
    assert 0 < routes["recommend"]["p50"] <= routes["recommend"]["p99"]
    (page,) = view["pages"]
    assert page["page"] == "shop"
    assert page["displays_per_second"] > 0
    assert {row["variant"] for row in page["variants"]} <= {"learnt", "holdout"}
    assert page["variants"]
    assert "shop" in text.stdout
    assert "recommend" in text.stdout


def test_an_address_without_a_service_is_an_error(slotwise) -> None:
    slotwise("top", "--url", "http://127.0.0.1:9", "--once").assert_refused("127.0.0.1:9", "does not answer")
