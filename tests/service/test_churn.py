"""A page whose items, positions and segments come and go for years stays small, and loses no count."""

from pathlib import Path
from typing import Any

from slotwise.service.pages.page_definition import DAY
from slotwise.service.verify import verify
from tests.service.running_service import START, Client, run_scenario

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
        await client.service.tick()
        await client.service.refresher.finish()
        model = await client.service.model("shop")
        assert model.folded.items == {model.items["hat"]}
        assert await client.send({"type": "view", "token": late["token"]}) == ["accepted"]
        model = await client.service.model("shop")
        assert not model.folded.items
        assert [(cell.item, cell.skips) for cell in model.cells()] == [(model.items["hat"], 2.0)]

    run_scenario(tmp_path, scenario)
