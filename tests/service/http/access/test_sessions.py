"""Sessions of the dashboard: which calls they allow, what they need, and when they end."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.service.api.route import Route
from slotwise.service.http.access import key_access
from slotwise.service.http.app import all_routes
from slotwise.service.keys.api_keys import NewKey, revoked
from slotwise.service.keys.sessions import LIFETIME, LOOPBACK_COOKIE
from slotwise.service.maintenance.verify import verify
from slotwise.service.web.dashboard import live
from tests.service.http.access.test_key_access import CLOSED, KeyRing, path_of, send, set_up
from tests.service.running_service import Client, run_scenario
from tests.waiting import HANG, until

SIGN_IN = "/dashboard/sign-in"
HTML = {"accept": "text/html,application/xhtml+xml"}


async def sign_in(client: Client, new: NewKey, **options: Any) -> httpx.Response:
    return await client.http.post(SIGN_IN, data={"key": new.secret}, **options)


async def session_of(client: Client, new: NewKey) -> dict[str, str]:
    """The headers that a page of the dashboard sends."""
    answer = await sign_in(client, new)
    assert answer.status_code == 303, answer.text
    value = answer.cookies[LOOPBACK_COOKIE]
    client.http.cookies.clear()
    session = client.service.sessions.read(value, client.clock())
    assert session is not None
    return {
        "cookie": f"{LOOPBACK_COOKIE}={value}",
        "x-slotwise-session": session.proof,
        "sec-fetch-site": "same-origin",
    }


async def status_of(client: Client, headers: dict[str, str]) -> int:
    """The status of a call with a session."""
    return (await client.http.get("/v1/overview", headers=headers)).status_code


async def sign_out(client: Client, headers: dict[str, str]) -> None:
    answer = await client.http.post("/dashboard/sign-out", data={"form": ""}, headers=headers)
    assert answer.status_code == 303


def refused(answer: httpx.Response) -> int:
    return answer.status_code if answer.status_code in (401, 403, 429) else 0


def expected(route: Route[Any], kind: str, scope: str) -> int:
    if not route.accepts_session:
        return 401
    if scope == "read" and route.needs == "admin":
        return 403
    if kind == "other" and ("{page}" in route.path or not route.checks_pages):
        return 403
    return 403 if kind == "shop" and "{page}" not in route.path and not route.checks_pages else 0


def test_every_route_with_every_kind_of_session(tmp_path: Path) -> None:
    """A session allows what its key allows, but only on the routes that accept sessions."""

    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        rings = {"all": keys.by_scope, "shop": keys.for_shop, "other": keys.for_other}
        routes = sorted((route for route in CLOSED if not route.key_in_body), key=lambda route: route.method != "GET")
        for kind, ring in rings.items():
            for scope in ("read", "admin"):
                headers = await session_of(client, ring[scope])
                for route in routes:
                    wanted = expected(route, kind, scope)
                    if wanted or route.method == "GET":
                        assert refused(await send(client, route, headers)) == wanted, (route.name, kind, scope)
        for scope in ("serve", "feedback"):
            assert (await sign_in(client, keys.by_scope[scope])).status_code == 403

    run_scenario(tmp_path, scenario, with_keys=True)


def test_no_other_routes_accept_sessions() -> None:
    """A session must not make keys, read metrics, or serve. A new route accepts sessions only if this list has it."""
    paths = {route.path for route in all_routes() if route.accepts_session}
    assert paths == {
        "/v1/overview", "/v1/pages", "/v1/pages/{page}", "/v1/pages/{page}/history", "/v1/pages/{page}/insights",
        "/v1/pages/{page}/items/{item}", "/v1/pages/{page}/pins/{layout}/{position}", "/dashboard",
        "/dashboard/events", "/dashboard/pages/{page}", "/dashboard/pages/{page}/events",
        "/dashboard/pages/{page}/items/{item}", "/dashboard/sign-out",
    }  # fmt: skip


def test_a_change_needs_the_proof_of_the_page_and_the_same_site(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        headers = await session_of(client, keys.by_scope["admin"])
        without = {name: value for name, value in headers.items() if name != "x-slotwise-session"}
        other = await session_of(client, keys.by_scope["admin"])
        for wrong, status in (
            (headers | {"sec-fetch-site": "cross-site"}, 403),
            (headers | {"sec-fetch-site": "same-site"}, 403),
            (headers | {"origin": "https://evil.example"}, 403),
            (headers | {"cookie": headers["cookie"] + "x"}, 401),
            (headers | {"cookie": f"{LOOPBACK_COOKIE}=x.y"}, 401),
            ({"sec-fetch-site": "same-origin"}, 401),
        ):
            answer = await client.http.post("/dashboard/sign-out", data={"a": ""}, headers=wrong)
            assert answer.status_code == status, wrong
        for wrong in (without, headers | {"x-slotwise-session": other["x-slotwise-session"]}):
            for route in CLOSED:
                if route.accepts_session and route.method != "GET" and not route.web:
                    assert (await send(client, route, wrong)).status_code == 403, route.name
        crossing = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
        assert (await sign_in(client, keys.by_scope["read"], headers=crossing)).status_code == 403

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_session_ends_with_its_key_and_after_its_lifetime(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        lasting, brief = keys.by_scope["read"], await client.create_key("read", lifetime=60.0)

        async def status(headers: dict[str, str]) -> int:
            return await status_of(client, headers)

        first, second = await session_of(client, lasting), await session_of(client, brief)
        assert [await status(first), await status(second)] == [200, 200]
        client.clock.now += 60.0
        assert [await status(first), await status(second)] == [200, 401]
        now = client.clock()
        await client.service.change_keys(lambda ledger: ledger.save_key(revoked(lasting.key, now)))
        assert await status(first) == 401
        third = await session_of(client, keys.by_scope["admin"])
        client.clock.now += LIFETIME - 1.0
        assert await status(third) == 200
        client.clock.now += 1.0
        assert await status(third) == 401

    run_scenario(tmp_path, scenario, with_keys=True)


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(tmp_path: Path) -> None:
    """Other sessions of the key go on. What has ended stays ended after a restart."""
    copied: dict[str, str] = {}

    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        new = keys.by_scope["read"]
        copied.update(await session_of(client, new))
        other = await session_of(client, new)
        assert [await status_of(client, headers) for headers in (copied, other)] == [200, 200]
        await sign_out(client, copied)
        assert [await status_of(client, headers) for headers in (copied, other)] == [401, 200]

    async def restarted(client: Client) -> None:
        await client.service.keys.refresh()
        assert await status_of(client, copied) == 401

    run_scenario(tmp_path, scenario, with_keys=True)
    run_scenario(tmp_path, restarted, with_keys=True)
    assert verify(tmp_path / "store.db").differences == []


def test_open_pages_of_a_session_end_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the key is revoked or expires, or the page is deleted: at once, not at the next check."""
    monkeypatch.setattr(live, "CHECK_SECONDS", HANG)

    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        client.service.stopping.clear()

        async def open_page(headers: dict[str, str], path: str = "/dashboard") -> "asyncio.Task[httpx.Response]":
            watching = asyncio.create_task(client.http.get(f"{path}/events", headers=headers))
            open_before = client.service.streams
            await until(lambda: client.service.streams > open_before)
            return watching

        async def ended(watching: "asyncio.Task[httpx.Response]") -> bool:
            text = (await asyncio.wait_for(watching, HANG / 2)).text
            return "event: ended" in text

        first, second = await session_of(client, keys.by_scope["read"]), await session_of(client, keys.by_scope["read"])
        watching, other = await open_page(first), await open_page(second)
        await sign_out(client, first)
        assert await ended(watching)
        assert not other.done()
        now = client.clock()
        await client.service.change_keys(lambda ledger: ledger.save_key(revoked(keys.by_scope["read"].key, now)))
        assert await ended(other)
        assert client.service.streams == 0

    run_scenario(tmp_path, scenario, with_keys=True)


def test_the_cookie_is_safe_and_has_no_key(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        new = keys.by_scope["read"]
        on_loopback = (await sign_in(client, new)).headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(on_loopback.split("; "))
        assert "Secure" not in on_loopback
        elsewhere = (await sign_in(client, new, headers={"host": "slotwise.example"})).headers["set-cookie"]
        assert elsewhere.startswith("__Host-slotwise=")
        assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(elsewhere.split("; "))
        assert not re.search("domain", elsewhere, re.IGNORECASE)
        assert new.secret[3:35] not in on_loopback + elsewhere
        out = await client.http.post("/dashboard/sign-out", data={"a": ""}, headers=await session_of(client, new))
        assert "Max-Age=0" in out.headers["set-cookie"]

    run_scenario(tmp_path, scenario, with_keys=True)


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/dashboardx", "/dashboard/\r\nx: y", "/"]
)
def test_signing_in_never_leads_to_another_site(tmp_path: Path, target: str) -> None:
    async def scenario(client: Client) -> None:
        new = await client.create_key("read")
        answer = await client.http.post(SIGN_IN, data={"key": new.secret, "next": target})
        assert answer.headers["location"] == "/dashboard"
        answer = await client.http.post(SIGN_IN, data={"key": new.secret, "next": "/dashboard/pages/shop"})
        assert answer.headers["location"] == "/dashboard/pages/shop"

    run_scenario(tmp_path, scenario, with_keys=True)


def test_browsers_get_errors_as_pages_without_the_key_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_access, "GUESS_BURST", 1e6)

    async def scenario(client: Client) -> None:
        keys = KeyRing()
        await keys.create(client)
        for new, status in ((keys.revoked, 401), (keys.expired, 401), (keys.by_scope["serve"], 403)):
            answer = await sign_in(client, new, headers=HTML)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
            assert new.secret not in answer.text
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        limited = await client.create_key("read", rate=1.0)
        statuses = [(await sign_in(client, limited, headers=HTML)).status_code for _ in range(2)]
        assert statuses == [303, 429]
        assert (await client.http.get("/dashboard/nothing", headers=HTML)).status_code == 404

    run_scenario(tmp_path, scenario, with_keys=True)


def test_static_files_are_kept_for_good_and_other_versions_are_not_found(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        page = (await client.http.get(SIGN_IN)).text
        address = re.search(r'href="(/static/\w+/shared/base.css)"', page)
        assert address is not None
        answer = await client.http.get(address[1])
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
        assert answer.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
        for path in ("/static/0/shared/base.css", address[1].replace("base.css", "none.css")):
            assert (await client.http.get(path)).status_code == 404
        for path in ("/static/../../html.py", "/static/%2e%2e/%2e%2e/html.py"):
            assert (await client.http.get(path)).status_code in (404, 422)

    run_scenario(tmp_path, scenario)


def test_paths_of_all_routes_are_covered() -> None:
    assert all("{" not in path_of(route) for route in CLOSED)
