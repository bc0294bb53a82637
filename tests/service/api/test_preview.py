"""A preview shows what a visitor would see, and leaves no trace."""

from pathlib import Path

from slotwise.service.maintenance.verify import verify
from tests.service.running_service import Client, run_scenario

RECOMMEND, PREVIEW = "/v1/pages/shop/recommendations", "/v1/pages/shop/recommendations?preview=true"


async def traces(client: Client) -> dict[str, object]:
    """Everything that a display leaves behind."""
    model = await client.service.model("shop")
    state = await client.ok("GET", "/v1/pages/shop/state")
    metrics = [line for line in (await client.http.get("/metrics")).text.splitlines() if "slotwise_displays" in line]
    log = (await client.http.get("/v1/pages/shop/log?format=ndjson")).text
    counts = model.counts()
    recent = len(client.service._displays._recent)
    return {
        "state": state,
        "log": log,
        "metrics": [line for line in metrics if "_created" not in line],
        "counts": (counts.clicks.sum(), counts.skips.sum(), counts.displays),
        "recent": recent,
        "growth": model._learner._growth.now,
    }


def test_a_preview_leaves_no_trace(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5)
        await client.recommend(id="view-1")
        assert await client.send({"type": "click", "display": "view-1", "position": "hero"}) == ["accepted"]
        before = await traces(client)
        for body in ({}, {"id": "view-1"}, {"id": "view-2", "unit": "anna"}, {"pinned": {"hero": "tie"}}):
            answer = await client.http.post(PREVIEW, json=body)
            assert answer.status_code == 200
            shown = answer.json()
            assert (shown["id"], shown["token"], len(shown["items"])) == ("", "", 3)
        assert shown["items"][0] == {"position": "hero", "item": "tie", "reason": "pinned"}
        assert await traces(client) == before
        for id in ("view-2", ""):
            event = {"type": "click", "display": id, "position": "hero"}
            answer = await client.http.post("/v1/events", json={"events": [event]})
            assert answer.status_code == 422 or answer.json()["results"][0]["status"] == "unknown"
        await client.recommend()  # the negative control
        assert await traces(client) != before

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_a_preview_has_the_variant_of_the_unit(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5)
        for unit in "abcdefgh":
            shown = await client.recommend(unit=unit)
            assert (await client.http.post(PREVIEW, json={"unit": unit})).json()["variant"] == shown["variant"]

    run_scenario(tmp_path, scenario)


def test_a_preview_checks_the_request_like_a_recommendation(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat"])
        for path, body, status in (
            (PREVIEW, {"excluded": ["nothing"]}, 422),
            (f"{PREVIEW}&on_shortage=error", {}, 409),
            (f"{RECOMMEND}?preview=yes", {}, 422),
            (f"{RECOMMEND}?preview=false", {}, 201),
            ("/v1/pages/none/recommendations?preview=true", {}, 404),
        ):
            assert (await client.http.post(path, json=body)).status_code == status, path

    run_scenario(tmp_path, scenario)
