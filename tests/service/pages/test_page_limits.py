"""The size of a page is limited, because all its counts are in memory and every display sweeps over them."""

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.service.errors import FieldError
from slotwise.service.pages.count_matrix import PRIOR
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded
from slotwise.service.pages.limits import MOST_COLUMNS, MOST_COUNTS, MOST_ITEMS, MOST_ITEMS_EVER, MOST_SEGMENTS_EVER
from slotwise.service.pages.page_checks import check_limits, check_page, most_items
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import PageCounts, StoredPage
from tests.service.running_service import ITEMS, POSITIONS, Client, run_scenario

LIMIT = 30  # counts: the page of these tests has 5 items x 1 segment x 4 columns


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotwise.service.pages.page_checks.MOST_COUNTS", LIMIT)


def largest() -> PageBody:
    """The largest page that one request can define."""
    layouts = {f"layout{k}": [f"position{j}" for j in range(50)] for k in range(10)}
    return NO_PAGE.with_spec(PageSpec(layouts=layouts, segments=[f"segment{k}" for k in range(50)]))


def test_the_largest_definition_leaves_room_for_few_items() -> None:
    body, most = largest(), most_items(largest(), NOTHING_FOLDED)
    assert check_limits(body, most) is None
    assert most * 51 * 501 <= MOST_COUNTS < (most + 1) * 51 * 501
    line = check_limits(body, 10_000)
    assert line is not None
    assert "255,510,000 counts (10,000 items x 51 segments x 501 columns)" in line
    assert f"{MOST_COUNTS:,} fit" in line
    small, retired = NO_PAGE.with_spec(PageSpec(positions=POSITIONS)), frozenset(range(1_000))
    assert most_items(small, NOTHING_FOLDED) == MOST_ITEMS
    assert most_items(small, Folded(retired)) == MOST_ITEMS + 1_000
    assert most_items(small, Folded(frozenset(range(MOST_ITEMS_EVER)))) == MOST_ITEMS_EVER
    assert check_limits(small, MOST_ITEMS + 1_000, Folded(retired)) is None
    assert "100,001 items" in str(check_limits(small, MOST_ITEMS + 1_001, Folded(retired)))


def test_removed_names_count_towards_the_limit_because_their_counts_are_kept() -> None:
    body = NO_PAGE
    for k in range(MOST_COLUMNS // 50):
        body = body.with_spec(PageSpec(positions=[f"position{k}-{j}" for j in range(50)]))
        assert check_limits(body, 1) is None
    assert "2,001 positions" in str(check_limits(body.with_spec(PageSpec(positions=["one"])), 1))
    body = NO_PAGE
    while len(body.segments) + 49 <= MOST_SEGMENTS_EVER:
        fresh = [f"segment{len(body.segments)}-{j}" for j in range(49)]
        body = body.with_spec(PageSpec(positions=["one"], segments=fresh))
        assert check_limits(body, 1) is None
    more = [f"more{j}" for j in range(50)]
    assert "segments" in str(check_limits(body.with_spec(PageSpec(positions=["one"], segments=more)), 1))


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("growth", "message"),
    [
        ({"segments": ["new"]}, "40 counts (5 items x 2 segments x 4 columns)"),
        ({"positions": [*POSITIONS, "a", "b", "c"]}, "35 counts (5 items x 1 segments x 7 columns)"),
    ],
)
def test_a_change_beyond_the_limit_is_rejected(tmp_path: Path, method: str, growth: Any, message: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        before = await client.ok("GET", "/v1/pages/shop")
        body = growth if method == "PATCH" else {"positions": POSITIONS} | growth
        refused = await client.http.request(method, "/v1/pages/shop", json=body)
        assert refused.status_code == 422
        problem = refused.json()
        assert all(words in problem["detail"] for words in (message, "30 fit", "several pages"))
        assert problem["errors"] == [{"pointer": "", "detail": problem["detail"]}]
        assert await client.ok("GET", "/v1/pages/shop") == before
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.5})
        await client.recommend()

    run_scenario(tmp_path, scenario)


@pytest.mark.usefixtures("low_limit")
def test_only_rows_beyond_the_limit_are_rejected(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        rows = [{"item": "a"}, {"item": "hat", "state": "paused"}, {"item": "b"}, {"item": "c"}, {"item": "b"}]
        rows = [rows[0], {"item": "bad", "prior": {"clicks": 2, "views": 1}}, *rows[1:], {"item": "a"}]
        answer = await client.ok("POST", "/v1/pages/shop/items:batch", {"items": rows})
        assert [(row["item"], row["status"]) for row in answer["results"]] == [
            ("a", "created"), ("bad", "invalid"), ("hat", "changed"), ("b", "created"), ("c", "invalid"),
            ("b", "changed"), ("a", "changed"),
        ]  # fmt: skip
        assert "32 counts (8 items x 1 segments x 4 columns)" in answer["results"][4]["detail"]
        kept = {row["item"]: row["state"] for row in (await client.ok("GET", "/v1/pages/shop"))["items"]}
        assert kept == dict.fromkeys((*ITEMS, "a", "b"), "active") | {"hat": "paused"}
        refused = await client.http.put("/v1/pages/shop/items/c", json={})
        assert refused.status_code == 422
        assert "30 fit" in refused.json()["detail"]
        assert (await client.http.put("/v1/pages/shop/items/a", json={})).status_code == 200
        await client.recommend(eligible=["a", "b"])

    run_scenario(tmp_path, scenario)


@pytest.mark.usefixtures("low_limit")
def test_of_two_changes_that_only_fit_separately_one_is_rejected(tmp_path: Path) -> None:
    """The second change is checked against the result of the first."""

    async def scenario(client: Client) -> None:
        await client.page()
        grown = client.http.patch("/v1/pages/shop", json={"positions": [*POSITIONS, "below"]})  # 5 x 5
        more = client.http.post("/v1/pages/shop/items:batch", json={"items": [{"item": "a"}, {"item": "b"}]})  # 7 x 4
        page, items = await asyncio.gather(grown, more)
        created = [row["status"] for row in items.json()["results"]].count("created")
        assert (page.status_code, created) in ((200, 1), (422, 2))
        await client.recommend()

    run_scenario(tmp_path, scenario)


@pytest.mark.usefixtures("low_limit")
def test_a_page_older_than_the_limit_is_served_and_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        monkeypatch.setattr("slotwise.service.pages.page_checks.MOST_COUNTS", 10)
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.5})
        await client.ok("PUT", "/v1/pages/shop/items/hat", {"state": "paused"})
        await client.ok("PUT", "/v1/pages/shop/pins/default/left", {"item": "tie"})
        shown = {row["position"]: row["item"] for row in (await client.recommend())["items"]}
        assert shown["left"] == "tie"
        assert "hat" not in shown.values()

    run_scenario(tmp_path, scenario)


def test_adding_items_in_a_batch_equals_adding_them_one_by_one() -> None:
    """Growing copies all counts, so a batch grows once; growing per item would block the event loop on a large page."""
    rows = [
        (1, "tie", ItemSpec(prior=ItemPrior(1.0, 4.0))),
        (0, "hat", ItemSpec(prior=ItemPrior(2.0, 3.0))),
        (2, "bag", ItemSpec()),
        (1, "tie", ItemSpec(prior=ItemPrior(3.0, 3.0))),
        (0, "hat", ItemSpec(state="paused")),
    ]
    at_once, singly = a_model(), a_model()
    at_once.set_items(rows)
    for row in rows:
        singly.set_items([row])
    assert (at_once.names, at_once.specs) == (singly.names, singly.specs)
    for model in (at_once, singly):
        assert model.counts().clicks[:, PRIOR].tolist() == [0.0, 0.0, 3.0, 3.0, 0.0, 0.0]  # two segments of each item
        assert model.counts().skips[:, PRIOR].tolist() == [0.0] * 6


def a_model() -> PageModel:
    body = NO_PAGE.with_spec(PageSpec(positions=["one"], segments=["new"]))
    items = [("hat", ItemSpec(prior=ItemPrior(1.0, 2.0)))]
    page = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    return PageModel(page, items, PageCounts([], 0.0, 0), np.random.default_rng(0))


def test_the_longest_order_is_checked_quickly() -> None:
    """The check blocks the event loop."""
    order = [f"item{k}" for k in range(MOST_ITEMS)]
    began = time.process_time()
    assert check_page(PageSpec(positions=POSITIONS, default_order=order)) == []
    assert time.process_time() - began < 0.2
    with_duplicate = PageSpec(positions=POSITIONS, default_order=[*order, "item7"])
    assert check_page(with_duplicate) == [FieldError("/default_order", "item 'item7' is given twice")]
