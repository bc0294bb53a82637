"""Exports and imports of what a page has learnt: insights, state, log."""

import asyncio
import io
import json
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from slotwise.logs.read_log import read_log
from slotwise.service.api.log import CHUNK, PARQUET_FILES
from slotwise.service.api.route import Call
from slotwise.service.api.state import PageState, put
from slotwise.service.api.state_cells import StateCell
from slotwise.service.errors import DoesNotFit, NotFound
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.sqlite.sqlite_ledger import SqliteLedger
from tests.service.running_service import ITEMS, POSITIONS, Client, ManualClock, open_client, run_scenario


async def some_traffic(client: Client, rounds: int = 60, **request: str) -> None:
    for k in range(rounds):
        shown = await client.recommend(**request)
        if k % 3 == 0:
            await client.send({"type": "click", "display": shown["id"], "position": POSITIONS[k % 2]})


def test_insights_have_estimates_with_intervals(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(holdout=0.3)
        await some_traffic(client)
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        assert {row["item"] for row in insights["theta"]} == set(ITEMS)
        assert [row["position"] for row in insights["kappa"]] == POSITIONS
        for row in [*insights["theta"], *insights["kappa"]]:
            assert (row["low"] is not None) == row["ready"]
            assert not row["ready"] or row["low"] <= row["mean"] <= row["high"]
        assert insights["displays"] == 60
        assert sum(cell["clicks"] for cell in insights["counts"]) == 20
        assert sum(cell["clicks"] + cell["skips"] for cell in insights["counts"]) == 180
        variants = {row["variant"]: row for row in insights["variants"]}
        assert set(variants) == {"learnt", "holdout"}
        assert sum(row["shown"] for row in variants.values()) == 180
        assert sum(row["clicks"] for row in insights["hours"]) == 20
        for position in POSITIONS:
            shares = [row["probability"] for row in insights["at_position"] if row["position"] == position]
            assert sum(shares) == pytest.approx(1.0)

    run_scenario(tmp_path, scenario)


def test_insights_of_segments_and_layouts(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        layouts = {"desktop": POSITIONS, "mobile": ["top"]}
        await client.page(positions=None, layouts=layouts, segments=["new", "old"])
        await some_traffic(client, 20, segment="new", layout="desktop")
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        assert {(row["segment"], row["item"]) for row in insights["theta"]} == {
            (segment, item) for segment in ("", "new", "old") for item in ITEMS
        }
        assert {(row["layout"], row["position"]) for row in insights["kappa"]} == {
            (layout, position) for layout, listed in layouts.items() for position in listed
        }
        assert {cell["segment"] for cell in insights["counts"]} == {"new"}

    run_scenario(tmp_path, scenario)


def shares(insights: dict, kind: str, key: str, **where: str) -> dict[str, dict[str, float]]:
    """{position: {item: share}} of the rows of one kind that match."""
    found: dict[str, dict[str, float]] = {}
    for row in insights[kind]:
        if all(row[name] == value for name, value in where.items()):
            found.setdefault(row["position"], {})[row["item"]] = row[key]
    return found


def test_insights_have_what_visitors_see_given_the_pins(tmp_path: Path) -> None:
    """Around a pin, the others are arranged by the same draws: the law of the best display without the pinned item.

    The shares are those of displays that the service really chooses: 400 of them, standard error up to 2.5 %, so the
    threshold of 12 % is four standard errors of a difference with 1,000 draws. The displays come from 40 ensembles,
    because the share in the 64 draws of a single one has a standard error of 6 %.
    """

    async def scenario(client: Client) -> None:
        await client.page()
        await some_traffic(client)
        free = await client.ok("GET", "/v1/pages/shop/insights")
        best = shares(free, "at_position", "probability")
        assert shares(free, "shown", "share") == best
        await client.ok("PUT", "/v1/pages/shop/pins/default/left", {"item": "sock"})
        pinned = await client.ok("GET", "/v1/pages/shop/insights")
        assert shares(pinned, "at_position", "probability") == best, "the best displays know no pins"
        shown = shares(pinned, "shown", "share")
        assert shown.pop("left") == {"sock": 1.0}
        assert {row["reason"] for row in pinned["shown"] if row["position"] == "left"} == {"pinned"}
        for position in ("hero", "right"):
            assert sum(shown[position].values()) == pytest.approx(1.0)
        assert "sock" not in shown["hero"] | shown["right"]
        await client.ok("PATCH", "/v1/pages/shop", {"count": "viewed"})  # so that these displays change no count
        chosen = []
        for k in range(40):
            await client.ok("PATCH", "/v1/pages/shop", {"click_window": 1000.0 + k})  # draws are made again
            chosen += [{row["position"]: row["item"] for row in (await client.recommend())["items"]} for _ in range(10)]
        for position, by_item in shown.items():
            for item in ITEMS[:4]:
                observed = sum(display[position] == item for display in chosen) / len(chosen)
                assert by_item.get(item, 0.0) == pytest.approx(observed, abs=0.12)
        for position, item in zip(POSITIONS, ITEMS, strict=False):
            await client.ok("DELETE", f"/v1/pages/shop/pins/default/{position}")
            await client.ok("PUT", f"/v1/pages/shop/pins/default/{position}", {"item": item})
        full = shares(await client.ok("GET", "/v1/pages/shop/insights"), "shown", "share")
        assert full == {position: {item: 1.0} for position, item in zip(POSITIONS, ITEMS, strict=False)}

    run_scenario(tmp_path, scenario)


def test_insights_of_pages_that_do_not_learn_have_what_visitors_see(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("off", mode="off", default_order=["belt"])
        await client.page("uniform", policy="uniform")
        for page in ("off", "uniform"):
            await client.ok("PUT", f"/v1/pages/{page}/pins/default/left", {"item": "sock"})
        off = await client.ok("GET", "/v1/pages/off/insights")
        order = {row["position"]: {row["item"]: 1.0} for row in (await client.recommend("off"))["items"]}
        assert shares(off, "shown", "share") == order == {"hero": {"belt": 1}, "left": {"sock": 1}, "right": {"hat": 1}}
        assert {row["position"]: row["reason"] for row in off["shown"]} == {
            "hero": "default", "left": "pinned", "right": "default",
        }  # fmt: skip
        uniform = await client.ok("GET", "/v1/pages/uniform/insights")
        assert shares(uniform, "shown", "share") == {"left": {"sock": 1.0}}
        assert "does not learn" in uniform["note"]

    run_scenario(tmp_path, scenario)


def test_a_paused_item_leaves_the_insights_at_once(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        assert "hat" in str((await client.ok("GET", "/v1/pages/shop/insights"))["shown"])
        await client.ok("PATCH", "/v1/pages/shop/items/hat", {"state": "paused"})
        assert "hat" not in str((await client.ok("GET", "/v1/pages/shop/insights"))["shown"])

    run_scenario(tmp_path, scenario)


def test_failed_insights_are_not_cached(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteLedger, "rates", down)
            assert (await client.http.get("/v1/pages/shop/insights")).status_code == 503
        assert (await client.http.get("/v1/pages/shop/insights")).status_code == 200

    def down(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    run_scenario(tmp_path, scenario)


def test_insights_of_a_page_without_items(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=[])
        assert (await client.ok("GET", "/v1/pages/shop/insights"))["ready"] is False
        assert (await client.recommend())["left_out"] == POSITIONS

    run_scenario(tmp_path, scenario)


def test_insights_of_a_page_without_displays_are_its_prior_and_need_no_sweeps(tmp_path: Path) -> None:
    """Law: kappa is uniform; `prior_below` gives the levels of the ends of the interval of a theta.

    1,000 draws: a level has a standard error of up to 1.6 %; the thresholds are five standard errors.
    """

    async def scenario(client: Client) -> None:
        items = [f"item{k}" for k in range(50)]
        await client.page(positions=list("abcde"), items=items)
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        assert insights["ready"]
        assert "after 0 sweeps" in insights["sampling"]
        for row in insights["kappa"]:
            assert (row["low"], row["mean"], row["high"]) == pytest.approx((0.05, 0.5, 0.95), abs=0.08)
        for row in insights["theta"]:
            assert prior_below(row["low"], columns=6) == pytest.approx(0.05, abs=0.035)
            assert prior_below(row["high"], columns=6) == pytest.approx(0.95, abs=0.035)
        for position in "abcde":
            shares = [row["probability"] for row in insights["at_position"] if row["position"] == position]
            assert sum(shares) == pytest.approx(1.0)
            assert max(shares) < 0.06

    run_scenario(tmp_path, scenario)


def prior_below(x: float, columns: int) -> float:
    """P(theta max(kappa) <= x) where theta is Beta(1, b), 1/b uniform, and every kappa uniform."""
    u = (np.arange(2000) + 0.5) / 2000
    limits = np.minimum(x / u ** (1.0 / columns), 1.0)
    return float(np.mean([1.0 - np.mean((1.0 - limit) ** (1.0 / u)) for limit in limits[::10]]))


def test_insights_of_a_page_with_very_many_rows_have_fewer_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All draws at once would take gigabytes; with few draws there are no intervals."""
    monkeypatch.setattr("slotwise.service.insights.insights._NUMBERS_DRAWN", 100)

    async def scenario(client: Client) -> None:
        await client.page()
        await some_traffic(client, 10)
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        assert "too many for intervals" in insights["note"]
        assert not any(row["ready"] for row in insights["theta"])
        assert all(0.0 < row["mean"] < 1.0 and row["low"] is None for row in insights["theta"])

    run_scenario(tmp_path, scenario)


def test_shadow_mode_notes_what_it_cannot_estimate(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(mode="shadow", default_order=ITEMS[::-1])
        shown = await client.recommend()
        assert [row["item"] for row in shown["items"]] == ITEMS[::-1][:3]
        assert (shown["variant"], shown["items"][0]["reason"]) == ("default", "default")
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        assert "products" in insights["note"]
        assert insights["displays"] == 1

    run_scenario(tmp_path, scenario)


def test_shadow_mode_says_what_it_would_show_and_what_clicks_determine(tmp_path: Path) -> None:
    """In the default order, tie is clicked most. Then tie and hat have been at both positions, so kappas are known."""

    def cells(**clicks: int) -> dict[str, Any]:
        rows = [
            {"item": item, "layout": "default", "position": position, "segment": None, "clicks": n, "skips": 1000 - n}
            for name, n in clicks.items()
            for item, position in [name.split("_")]
        ]
        return {"format": "slotwise-state", "version": 1, "displays": 1000, "counts": rows}

    async def scenario(client: Client) -> None:
        spec = {"positions": ["hero", "left"], "mode": "shadow", "default_order": ["hat", "tie"]}
        await client.ok("PUT", "/v1/pages/shop", spec)
        rows = [{"item": item} for item in ("hat", "tie", "bag")]
        await client.ok("POST", "/v1/pages/shop/items:batch", {"items": rows})
        await client.ok("PUT", "/v1/pages/shop/state", cells(hat_hero=100, tie_left=300))
        shadow = (await client.ok("GET", "/v1/pages/shop/insights"))["shadow"]
        assert {(row["item"], row["position"]) for row in shadow["products"]} == {("hat", "hero"), ("tie", "left")}
        for row in shadow["products"]:
            assert row["mean"] == pytest.approx({"hat": 0.1, "tie": 0.3}[row["item"]], abs=0.02)
            assert row["low"] < row["mean"] < row["high"] < row["low"] + 0.1
        assert (shadow["separable"], len(shadow["unlinked"])) == (False, 2)
        await client.ok(
            "PUT", "/v1/pages/shop/state", cells(hat_hero=100, tie_left=300, hat_left=50, tie_hero=600, bag_hero=5)
        )
        await client.ok("PATCH", "/v1/pages/shop", {"click_window": 100})  # earlier insights are not used again
        shadow = (await client.ok("GET", "/v1/pages/shop/insights"))["shadow"]
        assert (shadow["separable"], shadow["unlinked"]) == (True, [])
        likely = {(row["position"], row["item"]) for row in shadow["would_show"] if row["probability"] > 0.9}
        assert likely == {("hero", "tie"), ("left", "hat")}
        await client.ok("PUT", "/v1/pages/shop/pins/default/hero", {"item": "bag"})
        shadow = (await client.ok("GET", "/v1/pages/shop/insights"))["shadow"]
        assert {row["position"] for row in shadow["would_show"]} == {"left"}  # hero has a pin
        await client.ok("PATCH", "/v1/pages/shop", {"mode": "learn"})
        assert (await client.ok("GET", "/v1/pages/shop/insights"))["shadow"] is None

    run_scenario(tmp_path, scenario)


def test_an_exported_state_can_be_imported(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.page("copy")
        await some_traffic(client)
        answer = await client.http.get("/v1/pages/shop/state")
        state, etag = answer.json(), answer.headers["etag"]
        assert sum(cell["clicks"] for cell in state["counts"]) == 20
        await client.ok("PUT", "/v1/pages/copy/state", state)
        copied = await client.ok("GET", "/v1/pages/copy/state")
        assert copied == state
        before = await client.recommend()
        stale = await client.http.put("/v1/pages/shop/state", json=state, headers={"if-match": etag})
        assert stale.status_code == 412
        now = (await client.http.get("/v1/pages/shop/state")).headers["etag"]
        assert (await client.http.put("/v1/pages/shop/state", json=state, headers={"if-match": now})).status_code == 204
        assert await client.send({"type": "click", "display": before["id"], "position": "hero"}) == ["accepted"]
        assert (
            await client.ok("GET", "/v1/pages/shop/state") == state
        )  # displays issued before the import no longer count
        model = await client.service.model("shop")
        assert model.counts().clicks.sum() == 20

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


@pytest.mark.parametrize(
    "cell",
    [{"item": "nothing"}, {"position": "nowhere"}, {"layout": "nolayout"}, {"segment": "nosegment"}, {"clicks": -1}],
)
def test_a_state_that_does_not_fit_the_page_is_rejected(tmp_path: Path, cell: dict) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        good = {"item": "hat", "layout": "default", "position": "hero", "clicks": 1, "skips": 2}
        body = {"displays": 1, "counts": [good | cell]}
        assert (await client.http.put("/v1/pages/shop/state", json=body)).status_code == 422

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize("export_format", ["ndjson", "parquet"])
def test_slotwise_fit_reads_the_exported_log(tmp_path: Path, export_format: str) -> None:
    """Clicks and skips counted from the exported log are equal to the counts of the service."""

    async def scenario(client: Client) -> None:
        await client.page()
        for k in range(30):
            shown = await client.recommend()
            if k % 3 == 2:  # including the last one: a display is committed no later than its clicks
                await client.send({"type": "click", "token": shown["token"], "position": shown["items"][0]["position"]})
            if k % 7 == 0:
                await client.send({"type": "discard", "display": shown["id"]})
        path = tmp_path / f"log.{export_format}"
        path.write_bytes((await client.http.get(f"/v1/pages/shop/log?format={export_format}")).content)
        (query,) = read_log(str(path), "slotwise").queries
        assert query.name == "shop"
        counted = {
            (item, position): (query.counts.clicks[i, k], query.counts.skips[i, k])
            for i, item in enumerate(query.items)
            for k, position in enumerate(query.positions)
        }
        state = await client.ok("GET", "/v1/pages/shop/state")
        cells = {(cell["item"], cell["position"]): (cell["clicks"], cell["skips"]) for cell in state["counts"]}
        assert {cell: counts for cell, counts in counted.items() if sum(counts)} == cells
        assert query.counts.clicks.sum() > 5

    run_scenario(tmp_path, scenario)


def test_without_pyarrow_the_log_is_not_available_as_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        shown = await client.recommend()
        await client.send({"type": "view", "display": shown["id"]})  # it is recorded together with the display
        monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
        answer = await client.http.get("/v1/pages/shop/log?format=parquet")
        assert answer.status_code == 406
        assert "pip install 'slotwise[logs]'" in answer.json()["detail"]
        assert (await client.http.get("/v1/pages/shop/log?format=ndjson")).text.count("\n") == 3

    run_scenario(tmp_path, scenario)


def test_the_log_has_a_line_for_each_item_shown(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.page("empty")
        await some_traffic(client, 30)
        last = await client.recommend()
        await client.send({"type": "discard", "display": last["id"]})
        answer = await client.http.get("/v1/pages/shop/log")
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert len(lines) == 31 * 3
        assert sum(line["shown"] for line in lines) == 90
        assert sum(line["clicked"] for line in lines) == 10
        assert {line["page"] for line in lines} == {"shop"}
        parquet = (await client.http.get("/v1/pages/shop/log?format=parquet")).content
        assert pyarrow.parquet.read_table(io.BytesIO(parquet)).to_pylist() == lines
        assert (await client.http.get("/v1/pages/empty/log")).text == ""
        assert (await client.http.get("/v1/pages/shop/log?format=csv")).status_code == 422

    run_scenario(tmp_path, scenario)


def test_empty_displays_do_not_end_the_log(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=[])
        for _ in range(CHUNK):
            await client.service.recommend("shop", RecommendationRequest())
        await client.ok("PUT", "/v1/pages/shop/items/hat", {})
        shown = await client.recommend()
        await client.send({"type": "click", "display": shown["id"], "position": shown["items"][0]["position"]})
        (line,) = (await client.http.get("/v1/pages/shop/log")).text.splitlines()
        assert f'"display":"{shown["id"]}"' in line

    run_scenario(tmp_path, scenario)


def test_counts_fade_by_half_in_a_half_life(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with open_client(tmp_path, clock) as client:
            await client.page(half_life=86400, click_window=86400)
            await some_traffic(client)
            clicked = await client.recommend()
            before = (await client.service.model("shop")).counts()
            clock.now += 86400
            await client.service.tick()
            after = (await client.service.model("shop")).counts()
            assert after.clicks == pytest.approx(before.clicks / 2)
            assert after.skips == pytest.approx(before.skips / 2)
            await client.send({"type": "click", "display": clicked["id"], "position": "hero"})
            moved = (await client.service.model("shop")).counts()
            assert moved.clicks.sum() - after.clicks.sum() == pytest.approx(0.5)
            assert moved.skips.min() >= 0.0
        async with open_client(tmp_path, clock) as client:
            again = (await client.service.model("shop")).counts()
            assert again.clicks == pytest.approx(moved.clicks)
            assert again.displays == pytest.approx(moved.displays)

    asyncio.run(scenario())
    assert verify(tmp_path / "store.db").differences == []


def test_old_displays_are_folded_into_the_snapshot(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with open_client(tmp_path, clock) as client:
            await client.page(click_window=60, retention=3600, half_life=3600)
            await some_traffic(client)
            before = (await client.service.model("shop")).counts()
            clock.now += 3600 * 4
            await client.service.tick()
            assert (await client.http.get("/v1/pages/shop/log")).text == ""
            after = (await client.service.model("shop")).counts()
            assert after.clicks == pytest.approx(before.clicks / 16)
            await some_traffic(client, 6)
            memory = (await client.service.model("shop")).counts()
        async with open_client(tmp_path, clock) as client:
            again = (await client.service.model("shop")).counts()
            assert again.clicks == pytest.approx(memory.clicks)
            assert again.skips == pytest.approx(memory.skips)

    asyncio.run(scenario())
    verdict = verify(tmp_path / "store.db")
    assert verdict.differences == []
    assert verdict.displays == 6


def test_the_first_click_triggers_no_compilation() -> None:
    """In a separate process: the kernels that a page needs are compiled before the service is ready."""
    code = (
        "from slotwise.counts import empty, restore\n"
        "from slotwise.inference.sampling.ensemble_draws import record_draws\n"
        "from slotwise.service.pages.compiler import compile_kernels\n"
        "from slotwise.service.ensembles.arrange_draw import arrange_draw\n"
        "from slotwise.service.pages.count_matrix import add_to_cells\n"
        "compile_kernels()\n"
        "kernels = empty, restore, add_to_cells, arrange_draw, record_draws\n"
        "print(*(len(getattr(kernel, 'signatures', '1')) for kernel in kernels))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.split() == ["1"] * 5


def test_a_parquet_export_without_room_for_temporary_files_gets_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        answer = await client.http.get("/v1/pages/shop/log?format=parquet")
        assert answer.status_code == 503
        assert "temporary file" in answer.json()["detail"]

    run_scenario(tmp_path, scenario)


def test_parquet_exports_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PARQUET_FILES, "most", 100)

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(3):
            await client.recommend()
        path = "/v1/pages/shop/log?format=parquet"
        assert (await client.http.get(path)).status_code == 503
        assert PARQUET_FILES.held == 0
        monkeypatch.setattr(PARQUET_FILES, "most", 10**6)
        assert (await client.http.get(path)).status_code == 200
        assert PARQUET_FILES.held == 0

    run_scenario(tmp_path, scenario)


def test_an_imported_document_is_freed_on_a_background_thread(tmp_path: Path) -> None:
    """Otherwise the event loop would free 100,000 cells at once when the handler returns."""

    async def scenario(client: Client) -> None:
        await client.page()
        for name, item, error in (("shop", "hat", None), ("shop", "x", DoesNotFit), ("unknown", "hat", NotFound)):
            state = PageState([StateCell(item, "default", "hero", 1.0, 1.0)] * (1 if error is None else 2_500), 1.0)
            with nullcontext() if error is None else pytest.raises(error):
                await put(Call(client.service, {"page": name}, {}, {}, state))
            assert state.counts == []

    run_scenario(tmp_path, scenario)
