"""Pages of a template share their kappas and the law of their thetas, whatever happens to the pages."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.service.service import Resources, running
from slotwise.service.templates import template_counts
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import TemplateCounts, read_counts
from tests.service.running_service import ITEMS, POSITIONS, START, Client, open_client, run_scenario

KAPPA = [0.2, 1.0, 0.5]  # the second position is the most visible one
DISPLAYS = 3_000.0


def state(rate: float = 0.2, kappa: list[float] = KAPPA) -> dict[str, Any]:
    """Counts of a page on which every item was shown equally often at every position."""
    shown = DISPLAYS / len(ITEMS)
    chances = {(item, position): rate * k for item in ITEMS for position, k in zip(POSITIONS, kappa, strict=True)}
    cells = [
        {"item": item, "layout": "default", "position": position, "clicks": shown * p, "skips": shown * (1 - p)}
        for (item, position), p in chances.items()
    ]
    return {"counts": cells, "displays": DISPLAYS}


async def learnt_page(client: Client, name: str, rate: float = 0.2, kappa: list[float] = KAPPA, **spec: Any) -> None:
    await client.page(name, template="grid", **spec)
    await client.ok("PUT", f"/v1/pages/{name}/state", state(rate, kappa))


async def template(client: Client, page: str = "new") -> PageTemplate:
    found = (await client.service.model(page)).template
    assert found is not None
    return found


async def read(client: Client, name: str = "grid") -> TemplateCounts:
    return await asyncio.to_thread(client.service._pages._read_template, name)


def pages_of(counts: TemplateCounts) -> list[str]:
    return [block.page for block in counts.blocks]


def test_a_new_page_starts_with_the_visibilities_and_the_law_of_its_template(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for k in range(4):
            await learnt_page(client, f"old{k}", rate=0.05)
        await client.page("new", template="grid")
        await client.page("alone")
        for page in ("new", "alone"):
            await client.recommend(page)
            await client.recommend(page)
        new = (await client.service.model("new"))._learner._ensemble
        kappa = new.scores.kappa[:, 1:] / new.scores.kappa[:, [2]]
        assert not new.warming
        np.testing.assert_allclose(kappa.mean(axis=0), [0.2, 1.0, 0.5], atol=0.05)
        assert np.all(new.scores.theta[:, :1] * new.scores.kappa[:, [2]] < 0.5)  # items of this template are at 0.05
        alone = (await client.service.model("alone"))._learner._ensemble
        assert np.std(alone.scores.kappa[:, 1] / alone.scores.kappa[:, 2]) > 0.3  # nothing is known

    run_scenario(tmp_path, scenario)


def test_pages_of_a_template_have_the_same_layouts(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("first", template="grid")
        await client.page("second", template="grid", positions=POSITIONS[::-1])  # another order is allowed
        put = await client.http.put("/v1/pages/third", json={"positions": ["hero", "left"], "template": "grid"})
        assert put.status_code == 422
        assert put.json()["errors"][0]["pointer"] == "/template"
        assert "'hero', 'left', 'right'" in put.json()["errors"][0]["detail"]
        assert (await client.http.get("/v1/pages/third")).status_code == 404
        patch = await client.http.patch("/v1/pages/second", json={"positions": ["hero"]})
        assert patch.status_code == 422
        await client.ok("PATCH", "/v1/pages/second", {"positions": ["hero"], "template": "other"})
        await client.ok("PATCH", "/v1/pages/first", {"positions": ["hero"]})  # the only page of its template
        patch = await client.http.patch("/v1/pages/second", json={"template": "grid"})
        assert patch.status_code == 200
        assert patch.json()["template"] == "grid"
        await client.ok("DELETE", "/v1/pages/first")
        await client.ok("PATCH", "/v1/pages/second", {"positions": POSITIONS})
        put = await client.http.put("/v1/pages/first", json={"positions": ["hero"], "template": "grid"})
        assert put.status_code == 422  # an archived page joins again only if it fits
        await client.ok("PATCH", "/v1/pages/second", {"template": None})
        assert (await client.ok("GET", "/v1/pages/second"))["template"] is None

    run_scenario(tmp_path, scenario)


def test_a_template_follows_pages_that_leave_and_counts_that_are_imported(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for page in ("a", "b", "c"):
            await learnt_page(client, page)
        await client.page("new", template="grid")
        await client.recommend("new")
        await client.service._pages.settle()
        shared = await template(client)
        assert sorted(pages_of(await read(client))) == ["a", "b", "c", "new"]
        assert shared.urgency < 0
        for change in (
            client.ok("DELETE", "/v1/pages/a"),
            client.ok("PATCH", "/v1/pages/b", {"template": "other"}),
            client.ok("PUT", "/v1/pages/c/state", state(kappa=[1.0, 0.1, 0.1])),
        ):
            before = shared.shared
            await change
            await client.service._pages.settle()
            assert shared.shared is not before  # drawn again
        assert sorted(pages_of(await read(client))) == ["c", "new"]
        assert pages_of(await read(client, "other")) == ["b"]
        assert shared.shared is not None
        kappa = shared.shared.draws.kappa[:, 1:]
        assert np.all(kappa[:, 0] > 3 * kappa[:, 1])  # as the imported counts say

    run_scenario(tmp_path, scenario)


def test_draws_of_a_template_are_made_again_by_its_own_growth(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await learnt_page(client, "old")
        await client.page("new", template="grid")
        await client.recommend("new")
        await client.service._pages.settle()
        shared = await template(client)
        before, page = shared.shared, await client.service.model("new")
        for _ in range(80):  # 3 % of 3,000 are 90
            await client.recommend("new")
        assert shared.shared is before
        assert page._learner._growth.drawn_from.displays > 70  # the page draws by its own growth
        for _ in range(20):
            await client.recommend("new")
        assert shared.shared is not before
        assert shared.shared is not None
        assert shared.shared.made_from.displays == pytest.approx(DISPLAYS + 90, abs=10)

    run_scenario(tmp_path, scenario)


def test_counts_from_memory_and_from_the_store_are_the_same(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        spec: dict[str, Any] = {"half_life": 8 * 3600.0, "segments": ["mobile"]}
        await learnt_page(client, "shop", **spec)
        await client.ok("PUT", "/v1/pages/shop/items/hat", {"prior": {"clicks": 3.0, "views": 10.0}})
        for segment in ("mobile", None):
            shown = await client.recommend("shop", segment=segment)
            await client.send({"type": "click", "display": shown["id"], "position": "hero"})
        model = await client.service.model("shop")
        client.clock.now = START + 5 * 3600.0
        stored = await client.service.store.do(
            lambda ledger: read_counts(ledger, "grid", lambda _: None, START + 18000.0)
        )
        await client.service._pages.begin_due_epoch(model, client.clock.now)
        memory = await read(client)
        assert model.page.epoch > 0
        assert stored.blocks[0].columns == memory.blocks[0].columns
        for ours, theirs in zip(stored.blocks[0][3:5], memory.blocks[0][3:5], strict=True):
            np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0))
        assert stored.blocks[0].displays == pytest.approx(memory.blocks[0].displays)
        client.service._pages.evict("shop")
        assert (await read(client)).blocks[0].displays == pytest.approx(memory.blocks[0].displays)

    run_scenario(tmp_path, scenario)


def test_a_template_learns_from_a_bounded_set_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        for page in "abcd":
            await client.page(page, template="grid")
        for page in "bd":
            await client.ok("PUT", f"/v1/pages/{page}/state", state())
        monkeypatch.setattr(template_counts, "MOST_PAGES", 2)
        counts = await read(client)
        assert (pages_of(counts), counts.n_pages, counts.displays) == (["b", "d"], 4, 2 * DISPLAYS)
        assert counts.clicks == pytest.approx(2 * DISPLAYS * 0.2 * sum(KAPPA))
        monkeypatch.setattr(template_counts, "MOST_CELLS", 7 * (1 + len(POSITIONS)))
        counts = await read(client)
        assert [len(block.clicks) for block in counts.blocks] == [5, 2]
        assert counts.clicks > 0
        await client.page("new", template="grid")
        await client.recommend("new")  # works with such a sample

    run_scenario(tmp_path, scenario)


def test_a_policy_without_a_posterior_gives_its_counts_and_takes_nothing(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await learnt_page(client, "greedy", policy="greedy")
        for _ in range(3):
            await client.recommend("greedy")
        shared, model = await template(client, "greedy"), await client.service.model("greedy")
        assert not model.uses_template
        assert not model._learner.warming
        assert (shared.shared, shared.urgency) == (None, -1)  # no page needs draws, so none are made
        await client.page("new", template="grid", policy="pb_mhb")
        await client.recommend("new")
        await client.service._pages.settle()
        assert shared.shared is not None
        ensemble = (await client.service.model("new"))._learner._ensemble
        assert ensemble.beta.max() == 1.0  # pb_mhb keeps its uniform prior
        np.testing.assert_allclose(
            (ensemble.scores.kappa[:, 1:] / ensemble.scores.kappa[:, [2]]).mean(axis=0), KAPPA, atol=0.05
        )

    run_scenario(tmp_path, scenario)


def test_a_template_is_in_memory_while_one_of_its_pages_is(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_client(tmp_path) as client:
            await learnt_page(client, "old")
            await client.page("new", template="grid")
            await client.recommend("new")
            cache = client.service._pages._templates
            assert cache.n_bytes > 0
            first = await template(client)
            client.service._pages.evict("old")
            assert (await template(client)) is first
            client.service._pages.evict("new")
            assert (cache.n_bytes, cache._by_name) == (0, {})
            await client.recommend("new")
            await client.service._pages.settle()
            assert (await template(client)).shared is not None
        content = (tmp_path / "store.db").read_bytes()
        async with open_client(tmp_path) as client:  # a restart: counts are all that is kept
            await client.recommend("new")
            await client.service._pages.settle()
            assert (await template(client)).shared is not None
        assert b"kappa" not in content

    asyncio.run(scenario())


def test_the_memory_budget_counts_templates(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "store.db", seed=0, resources=Resources(page_bytes=1.0)) as service:
            while not service.ready:
                await asyncio.sleep(0.01)
            from slotwise.service.pages.page_definition import NO_PAGE, PageSpec

            for name in ("a", "b"):
                body = NO_PAGE.with_spec(PageSpec(positions=POSITIONS, template=name))
                await service.save_page(name, lambda _, body=body: body, None)  # type: ignore[misc]
                await service.model(name)
            assert list(service._pages._templates._by_name) == ["b"]
            size = service.metrics.registry.get_sample_value("slotwise_page_bytes")
            assert size == service._pages._n_bytes + service._pages._templates.n_bytes

    asyncio.run(scenario())


def test_insights_do_not_name_pages_that_a_key_may_not_see(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        for k in range(4):
            await learnt_page(client, f"old{k}", kappa=[1.0, 0.2, 0.5] if k == 3 else KAPPA)
        seen = {}
        for pages in (None, ["old0"], ["old0", "old3"]):
            client.use_key(await client.create_key("read", pages=pages))
            seen[str(pages)] = (await client.ok("GET", "/v1/pages/old0/insights"))["template"]
        assert [template["differing"] for template in seen.values()] == [["old3"], [], ["old3"]]
        assert ["old3" in template["note"] for template in seen.values()] == [True, False, True]
        assert all(template["kappas_differ"] and template["note"] for template in seen.values())

    run_scenario(tmp_path, scenario, with_keys=True)


@pytest.mark.parametrize("differ", [False, True])
def test_insights_say_what_is_shared_and_whether_it_may_be(tmp_path: Path, differ: bool) -> None:
    async def scenario(client: Client) -> None:
        for k in range(4):
            await learnt_page(client, f"old{k}")
        if differ:
            await client.ok("PUT", "/v1/pages/old3/state", state(kappa=[1.0, 0.2, 0.5]))
        await client.page("new", template="grid")
        insights = await client.ok("GET", "/v1/pages/new/insights")
        template = insights["template"]
        assert (template["template"], template["used"], template["pages"]) == ("grid", True, 5)
        assert template["displays"] == 4 * DISPLAYS
        assert template["kappas_differ"] is differ
        assert template["differing"] == (["old3"] if differ else [])
        assert bool(template["note"]) is differ
        kappas = {row["position"]: row for row in insights["kappa"]}
        if not differ:  # a page without any counts knows its visibilities
            assert kappas["hero"]["mean"] == pytest.approx(0.2, abs=0.03)
            assert kappas["hero"]["low"] < 0.2 < kappas["hero"]["high"]
        assert len(insights["theta"]) == len(ITEMS)
        assert insights["counts"] == []
        await client.page("alone")
        assert (await client.ok("GET", "/v1/pages/alone/insights"))["template"] is None

    run_scenario(tmp_path, scenario)
