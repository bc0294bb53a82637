"""From displays to an evaluation: a service with simulated visitors, its log, and the truth about them."""

import json
from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.store.records import Event
from tests.service.running_service import ITEMS, POSITIONS, Client, run_scenario

MODEL = sw.PBM(theta=[0.5, 0.4, 0.3, 0.2, 0.1], kappa=[1.0, 0.6, 0.3])
DISPLAYS, BATCH = 3_000, 100
ORDER = "tie,hat,belt"
TRUTH = 0.4 * 1.0 + 0.5 * 0.6 + 0.2 * 0.3


async def visit(client: Client, rng: np.random.Generator) -> None:
    """Visitors who click by the model, in batches."""
    service = client.service
    for _ in range(DISPLAYS // BATCH):
        clicks = []
        for _ in range(BATCH):
            display = (await service.recommend("shop", RecommendationRequest())).display
            for entry in display.entries:
                if rng.random() < MODEL.theta[entry.item] * MODEL.kappa[POSITIONS.index(entry.position)]:
                    clicks.append(Event(EventKind.CLICK, display.id, None, None, entry.position, None))
        await service.record_events(clicks)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a page that learns, with a holdout of one half."""
    folder = tmp_path_factory.mktemp("logged")

    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5)
        await visit(client, np.random.default_rng(1))
        await client.service.store.do(lambda ledger: ledger.page("shop"))  # the displays are committed before it
        (folder / "log.ndjson").write_bytes((await client.http.get("/v1/pages/shop/log")).content)

    run_scenario(folder, scenario)
    return folder / "log.ndjson"


def test_the_log_of_the_service_answers_what_an_order_earns(log: Path, slotwise) -> None:
    """Intervals of level 0.9999 contain the truth; they miss it with probability 1e-4 each."""
    result = slotwise("evaluate", str(log), "--order", ORDER, "--level", "0.9999", "--json").json()
    assert result["weighted"] == "holdout"
    for name in ("model", "inverse_propensity", "self_normalised", "doubly_robust"):
        found = result["clicks"][name]
        assert found["low"] < TRUTH < found["high"], name
        assert found["high"] - found["low"] < TRUTH


def test_no_item_is_shown_more_often_than_its_propensities_say(log: Path) -> None:
    """The mean of 1 / propensity where an item is shown, and 0 elsewhere, is the share of displays that can show it.

    So it is at most 1. It exceeds 1 by 5 standard errors with probability below 1e-5 for each of 15 cells.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["propensity"] for line in lines if line["variant"] == "holdout"} == {0.2}
    learnt = [line for line in lines if line["variant"] == "learnt"]
    known = [line for line in learnt if line["propensity"] is not None]
    assert len(known) > 0.9 * len(learnt)
    for position in POSITIONS:
        for item in ITEMS:
            terms = np.array(
                [(line["item"] == item) / line["propensity"] for line in known if line["position"] == position]
            )
            error = terms.std() / np.sqrt(terms.size)
            assert terms.mean() < 1.0 + 5.0 * error, (item, position)


def test_propensities_can_be_switched_off_and_values_are_logged(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(holdout=1.0, propensities=False)
        assert (await client.ok("GET", "/v1/pages/shop"))["propensities"] is False
        await client.ok("PATCH", "/v1/pages/shop/items/hat", {"value": 2.5})
        await client.recommend("shop", pinned={"hero": "hat"})
        await client.ok("PATCH", "/v1/pages/shop", {"propensities": True})
        await client.recommend("shop", pinned={"hero": "hat"})
        await client.service.store.do(lambda ledger: ledger.page("shop"))  # the displays are committed before it
        text = (await client.http.get("/v1/pages/shop/log")).text
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["propensity"] for line in lines[:3]] == [None] * 3
        assert [line["propensity"] for line in lines[3:]] == [1.0, 0.25, 0.25]
        assert [line["value"] for line in lines if line["item"] == "hat"] == [2.5, 2.5]
        assert {line["value"] for line in lines if line["item"] in ITEMS[1:]} == {1.0}

    run_scenario(tmp_path, scenario)
