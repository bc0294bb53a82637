"""A page whose items, positions and segments come and go for years stays small, and loses no count."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.folded import NOTHING_FOLDED
from slotwise.service.pages.page_cache import FOLD_SECONDS
from slotwise.service.pages.page_definition import DAY, ItemSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from tests.service.running_service import START, Client, open_client, run_scenario

MONTHS, ITEMS_A_MONTH, DISPLAYS = 36, 10, 12


def test_three_years_of_churn(tmp_path: Path) -> None:
    """Every month has other items. After the retention, their counts leave memory. They return with an item."""
    sizes: list[int] = []

    async def scenario(client: Client) -> None:
        await client.page(items=[], retention=5 * DAY, click_window=DAY)
        first_counts = {}
        for month in range(MONTHS):
            client.clock.now = START + 31 * DAY * month
            names = [f"month{month}-{k}" for k in range(ITEMS_A_MONTH)]
            rows = [{"item": name} for name in names]
            rows += [{"item": f"month{month - 1}-{k}", "state": "retired"} for k in range(ITEMS_A_MONTH) if month]
            await client.ok("POST", "/v1/pages/shop/items:batch", {"items": rows})
            positions = ["hero", f"extra{month}"] if month % 2 else ["hero"]
            await client.ok("PATCH", "/v1/pages/shop", {"positions": positions})
            for k in range(DISPLAYS):
                shown = await client.recommend(id=f"view-{month}-{k}", eligible=names)
                if k % 2:
                    click = {"type": "click", "token": shown["token"], "position": "hero"}
                    assert await client.send(click) == ["accepted"]
            if not month:
                late = {"type": "click", "display": "view-0-0", "position": "hero"}
                await client.ok("PUT", f"/v1/pages/shop/items/{names[0]}", {"state": "retired"})
                assert await client.send(late) == ["accepted"], "a retired item is clicked in time"
                first_counts = _of(await client.ok("GET", "/v1/pages/shop/state"), names)
            await client.service.tick()
            await client.service.refresher.finish()
            model = await client.service.model("shop")
            matrix = model._learner.matrix
            sizes.append(matrix.n_rows * int((matrix.columns >= 0).sum()))
        names = [f"month0-{k}" for k in range(ITEMS_A_MONTH)]
        state = await client.ok("GET", "/v1/pages/shop/state")
        assert _of(state, names) == first_counts, "the store keeps all counts"
        assert len(state["counts"]) > 2 * max(sizes)
        model = await client.service.model("shop")
        assert {item for item, *_ in model.cells()} <= set(range(ITEMS_A_MONTH * (MONTHS - 2), ITEMS_A_MONTH * MONTHS))
        returning = next(iter(first_counts))[0]
        await client.ok("PUT", f"/v1/pages/shop/items/{returning}", {})
        assert (await client.recommend(eligible=[returning]))["items"][0]["item"] == returning
        model = await client.service.model("shop")
        number = model.items[returning]
        clicks, skips = (sum(cell[3 + k] for cell in model.cells() if cell.item == number) for k in range(2))
        before = [value for key, value in first_counts.items() if key[0] == returning]
        assert (clicks, skips) == (sum(c for c, _ in before), 1 + sum(s for _, s in before))

    run_scenario(tmp_path, scenario)
    most_rows, most_columns = 2 * ITEMS_A_MONTH + 1, 4  # of two months; the prior, the hero, and two extra positions
    assert max(sizes) <= most_rows * most_columns
    assert verify(tmp_path / "store.db").differences == []


def _of(state: Any, names: list[str]) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (cell["item"], cell["position"]): (cell["clicks"], cell["skips"])
        for cell in state["counts"]
        if cell["item"] in names
    }


def test_a_late_view_of_a_retired_item_is_learnt_from(tmp_path: Path) -> None:
    """Before its view, a display on a page that counts views has no counts. So its item seems to be folded."""

    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "sock"], positions=["hero"], count="viewed")
        seen = await client.recommend(eligible=["hat"])
        assert await client.send({"type": "view", "token": seen["token"]}) == ["accepted"]
        state = await client.ok("GET", "/v1/pages/shop/state")
        await client.ok("PUT", "/v1/pages/shop/state", state)  # now the count of the first display is in the snapshot
        late = await client.recommend(eligible=["hat"])
        await client.ok("PUT", "/v1/pages/shop/items/hat", {"state": "retired"})
        client.clock.now += FOLD_SECONDS
        await client.service.tick()
        await client.service.refresher.finish()
        model = await client.service.model("shop")
        assert model.folded.items == {model.items["hat"]}
        assert await client.send({"type": "view", "token": late["token"]}) == ["accepted"]
        model = await client.service.model("shop")
        assert not model.folded.items
        assert [(cell.item, cell.skips) for cell in model.cells()] == [(model.items["hat"], 2.0)]

    run_scenario(tmp_path, scenario)


def test_a_display_issued_while_its_item_is_retired_is_learnt_from(tmp_path: Path) -> None:
    """The writer has committed the change of the item, but the page in memory has not followed it yet."""

    async def scenario(client: Client) -> None:
        await _retire_the_hat(client, show_again=True)
        await client.service._pages.drop_folded(client.clock.now)
        await _memory_agrees_with_store(client, {"hat": 2.0})

    _run_without_seed(tmp_path, scenario)


def test_an_item_that_returns_during_a_check_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await _retire_the_hat(client, show_again=False)
        store, begin_read = client.service.store, client.service.store.begin_read

        async def begin_read_and_wait() -> Any:
            reader = await begin_read()
            await client.ok("PUT", "/v1/pages/shop/items/hat", {})
            await client.recommend(eligible=["hat"])
            await client.ok("PUT", "/v1/pages/shop/items/hat", {"state": "retired"})
            return reader

        with monkeypatch.context() as patch:
            patch.setattr(store, "begin_read", begin_read_and_wait)
            await client.service._pages.drop_folded(client.clock.now)
        await _memory_agrees_with_store(client, {"hat": 2.0})
        await client.service._pages.drop_folded(client.clock.now)  # it is due at once, not in an hour
        await _memory_agrees_with_store(client, {"hat": 2.0})

    _run_without_seed(tmp_path, scenario)


async def _retire_the_hat(client: Client, show_again: bool) -> None:
    """The first display of the hat is in the snapshot. If it is shown again, that display is not yet in the store."""
    await client.page(items=["hat", "sock"], positions=["hero"])
    await client.recommend(eligible=["hat"])
    await client.ok("PUT", "/v1/pages/shop/state", await client.ok("GET", "/v1/pages/shop/state"))
    await client.recommend(eligible=["sock"])
    client.clock.now += FOLD_SECONDS
    model = await client.service.model("shop")
    retired = ItemSpec("retired")
    retiring = asyncio.create_task(client.service.save_items(model, [("hat", retired)]))
    await asyncio.sleep(0)  # the change waits for the writer
    while client.service.store.read_here(lambda ledger: ledger.specs(model.page.number, ["hat"])) != {"hat": retired}:
        time.sleep(0.001)  # not of asyncio, so that the page in memory cannot follow the change
    if show_again:
        _, display, _ = await client.service.recommend("shop", RecommendationRequest(eligible=["hat"]))
        assert [model.names[entry.item] for entry in display.entries] == ["hat"]
    await retiring


async def _memory_agrees_with_store(client: Client, skips: dict[str, float]) -> None:
    await client.service.refresher.finish()
    model = await client.service.model("shop")
    stored = await client.service.store.do(lambda ledger: ledger.counts(model.page.number))
    assert {model.names[cell.item]: cell.skips for cell in stored.cells if model.names[cell.item] in skips} == skips
    assert model.folded == NOTHING_FOLDED
    assert sorted(model.cells()) == sorted(stored.cells)


def _run_without_seed(folder: Path, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_client(folder, seed=None) as client:
            await scenario(client)

    asyncio.run(run())
