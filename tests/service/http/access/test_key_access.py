"""Access control with keys: every route with every kind of key, generated from the routes themselves."""

import asyncio
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from slotwise.service.api.route import Route
from slotwise.service.http.access import key_access
from slotwise.service.http.app import all_routes
from slotwise.service.keys.api_keys import SCOPES, NewKey, make_secret, revoked
from tests.service.running_service import ITEMS, POSITIONS, Client, run_scenario

REFUSED = (401, 403, 429)
ORIGIN, OTHER_ORIGIN = "https://shop.example", "https://evil.example"
NAMES = {"page": "shop", "item": "hat", "layout": "default", "position": "hero", "key": "none"}
NAMES |= {"event": "view-1", "version": "v1.0"}
IN_HEADER_ONLY = ("another scheme", "no scheme", "two spaces")  # attempts about the form of the header Authorization
# the shortest body with which the handler is reached; other routes get `{}`
BODIES: dict[str, Any] = {
    "send_events": {"events": [{"type": "click", "display": "view-1", "position": "hero"}]},
    "personalizer_rank_slots": {"actions": [{"id": item} for item in ITEMS], "slots": [{"id": p} for p in POSITIONS]},
    "personalizer_reward_slots": {"reward": [{"slotId": "hero", "value": 1.0}]},
}
BODIES |= {f"{name}_of_key": body for name, body in BODIES.items() if name.startswith("personalizer")}
QUERIES = {"recommend": ["?preview=true"]}  # further calls that need the same scope
_RANKS = [f"personalizer_rank{slots}{where}" for slots in ("", "_slots") for where in ("", "_of_key")]
CLOSED = [route for route in all_routes() if route.needs != "open"]


class Attempt(NamedTuple):
    """A request with a key, and the status that it must be refused with, or 0 if it must not be refused."""

    what: str
    headers: dict[str, str]
    refused: int


def bearer(secret: str, origin: str | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"} | ({} if origin is None else {"origin": origin})


class KeyRing:
    """Keys of every kind."""

    def __init__(self) -> None:
        self.by_scope: dict[str, NewKey] = {}
        self.for_shop: dict[str, NewKey] = {}
        self.for_other: dict[str, NewKey] = {}

    async def create(self, client: Client) -> None:
        for scope in SCOPES:
            browser: dict[str, Any] = {"origins": [ORIGIN], "rate": 1e6} if scope == "browser" else {}
            everything = {"pages": ["shop", "other"]} if scope == "browser" else {}
            self.by_scope[scope] = await client.create_key(scope, **browser, **everything)
            self.for_shop[scope] = await client.create_key(scope, pages=["shop"], **browser)
            self.for_other[scope] = await client.create_key(scope, pages=["other"], **browser)
        self.revoked = await client.create_key("admin")
        self.expired = await client.create_key("admin", lifetime=60.0)
        now = client.clock()
        await client.service.change_keys(lambda ledger: ledger.save_key(revoked(self.revoked.key, now)))
        client.clock.now += 60.0
        self.unknown = make_secret()

    def secrets(self) -> list[str]:
        rings = [*self.by_scope.values(), *self.for_shop.values(), *self.for_other.values(), self.revoked, self.expired]
        return [self.unknown, *(new.secret for new in rings)]


def attempts(route: Route[Any], keys: KeyRing) -> Iterator[Attempt]:
    """Every kind of key on this route."""
    admin = keys.by_scope["admin"].secret
    yield Attempt("no key", {}, 401)
    yield Attempt("another scheme", {"authorization": f"Basic {admin}"}, 401)
    yield Attempt("no scheme", {"authorization": admin}, 401)
    yield Attempt("an empty key", {"authorization": "Bearer "}, 401)
    yield Attempt("two spaces", {"authorization": f"Bearer  {admin}"}, 401)
    yield Attempt("malformed", bearer(admin[:-1]), 401)
    yield Attempt("wrong checksum", bearer(admin[:-1] + ("A" if admin[-1] != "A" else "B")), 401)
    yield Attempt("one more character", bearer(admin + "A"), 401)
    yield Attempt("unknown", bearer(keys.unknown), 401)
    yield Attempt("expired", bearer(keys.expired.secret), 401)
    yield Attempt("revoked", bearer(keys.revoked.secret), 401)
    has_page = "{page}" in route.path
    for scope in SCOPES:
        allowed = scope in (route.needs, "admin") or (scope == "browser" and route.needs == "serve")
        is_browser = scope == "browser"
        origin = ORIGIN if is_browser else None
        yield Attempt(f"scope {scope}", bearer(keys.by_scope[scope].secret, origin), 0 if allowed else 403)
        bound = allowed and (has_page or route.checks_pages)
        yield Attempt(f"{scope} of the page", bearer(keys.for_shop[scope].secret, origin), 0 if bound else 403)
        wrong_page = 403 if has_page or route.name == "send_events" or not bound else 0
        yield Attempt(f"{scope} of another page", bearer(keys.for_other[scope].secret, origin), wrong_page)
        if is_browser:
            yield Attempt("wrong origin", bearer(keys.by_scope[scope].secret, OTHER_ORIGIN), 403)
            yield Attempt("no origin", bearer(keys.by_scope[scope].secret), 403)


def path_of(route: Route[Any]) -> str:
    return re.sub(r"{(\w+)}", lambda match: NAMES[match[1]], route.path)


async def send(client: Client, route: Route[Any], headers: dict[str, str], query: str = "") -> httpx.Response:
    if route.web and route.body is not None:
        key = headers.get("authorization", "").removeprefix("Bearer ")
        form = {"key": key} if route.key_in_body else {"form": ""}
        kept = {name: value for name, value in headers.items() if name == "origin" or not route.key_in_body}
        return await client.http.request(route.method, path_of(route), data=form, headers=kept)
    body = None if route.body is None else BODIES.get(route.name, {})
    return await client.http.request(route.method, path_of(route) + query, json=body, headers=headers)


async def set_up(client: Client) -> KeyRing:
    """Two pages, a committed display of `shop`, and keys of every kind."""
    client.service.stopping.set()  # streams of events have no end before
    keys = KeyRing()
    await keys.create(client)
    client.use_key(keys.by_scope["admin"])
    for page in ("shop", "other"):
        await client.page(page)
    await client.recommend("shop", id="view-1")
    assert await client.send({"type": "view", "display": "view-1"}) == ["accepted"]
    del client.http.headers["authorization"]
    return keys


async def content(client: Client) -> Any:
    """Everything that a refused request must not change."""
    return await client.service.store.read(
        lambda ledger: (
            [ledger.page(name) for name in ("shop", "other")],
            ledger.items(1),
            ledger.keys(),
            ledger.counts(1).revision,
        )
    )


def test_every_route_with_every_kind_of_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(key_access, "GUESS_BURST", 1e6)  # no answer is delayed
    texts: list[str] = []

    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        before = await content(client)
        queries = [(route, query) for route in CLOSED for query in ["", *QUERIES.get(route.name, [])]]
        cases = [(*call, attempt) for call in queries for attempt in attempts(call[0], keys)]
        cases = [case for case in cases if not (case[0].key_in_body and case[2].what in IN_HEADER_ONLY)]
        cases.sort(key=lambda case: case[2].refused == 0)  # the calls that change something come last
        for route, query, (what, headers, refused) in cases:
            if refused == 0 and before is not None:
                assert await content(client) == before
                before = None
            answer = await send(client, route, headers, query)
            assert (answer.status_code if answer.status_code in REFUSED else 0) == refused, (
                route.name,
                what,
                answer.text,
            )
            if refused:
                assert answer.headers["content-type"] == "application/problem+json"
                assert ("www-authenticate" in answer.headers) == (refused == 401)
            texts.extend((answer.text, str(answer.headers)))
        client.use_key(keys.by_scope["admin"])
        texts.extend(
            [(await client.http.get(path)).text for path in ("/metrics", "/openapi.json", "/docs", "/v1/keys")]
        )
        everything = "\n".join([*texts, caplog.text])
        for secret in keys.secrets():
            assert secret[3:35] not in everything
        for new in keys.by_scope.values():
            assert new.key.digest.hex() not in everything

    run_scenario(tmp_path, scenario, with_keys=True)


def test_only_the_calls_of_personalizer_accept_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header has the same power as Authorization there, and none elsewhere."""
    monkeypatch.setattr(key_access, "GUESS_BURST", 1e6)

    def header(new: NewKey | str) -> dict[str, str]:
        return {"Ocp-Apim-Subscription-Key": new if isinstance(new, str) else new.secret}

    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        accepting = set()
        for route in CLOSED:
            answer = await send(client, route, header(keys.by_scope["read"]))
            if answer.status_code != 401 and route.needs != "read":
                accepting.add(route.name)
                assert answer.status_code == 403
        assert accepting == {route.name for route in CLOSED if "/personalizer/{version}/" in route.path}
        for route in CLOSED:
            if route.name in accepting:
                for new, refused in (
                    (keys.by_scope[route.needs], 0),
                    (keys.for_shop[route.needs], 0),
                    (keys.for_other[route.needs], 0 if route.checks_pages else 403),
                    (keys.revoked, 401),
                    (keys.unknown, 401),
                    ("", 401),
                ):
                    answer = await send(client, route, header(new))
                    assert (answer.status_code if answer.status_code in REFUSED else 0) == refused, (route.name, new)
                both = header(keys.by_scope["admin"]) | bearer(keys.unknown)
                assert (await send(client, route, both)).status_code == 401

    run_scenario(tmp_path, scenario, with_keys=True)


def test_open_routes_need_no_key_and_all_others_need_the_least_scope() -> None:
    assert {route.name for route in all_routes()} - {route.name for route in CLOSED} == {
        "livez", "readyz", "openapi", "docs", "root", "sign_in_form", "static", "tracker",
    }  # fmt: skip
    for route in CLOSED:
        serving = {"recommend": "serve", "send_events": "feedback"}
        serving |= dict.fromkeys(("sign_in", "sign_out"), "read")
        serving |= dict.fromkeys(_RANKS, "serve")
        if route.path.endswith(("/reward", "/activate")):
            serving[route.name] = "feedback"
        about_keys = route.path.startswith(("/v1/keys", "/v1/history"))
        least = "admin" if route.method != "GET" or about_keys else "read"
        assert route.needs == serving.get(route.name, least), route.name


def test_refusals_name_the_scope_or_the_page_and_are_counted(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        read, shop = keys.by_scope["read"], keys.for_shop["serve"]
        answer = await client.http.put("/v1/pages/shop", json={}, headers=bearer(read.secret))
        assert "admin" in answer.json()["detail"]
        answer = await client.http.post("/v1/pages/other/recommendations", headers=bearer(shop.secret))
        assert "'other'" in answer.json()["detail"]
        answer = await client.http.get("/v1/version", headers=bearer(keys.expired.secret))
        assert "expired" in answer.json()["detail"]
        for _ in range(3):
            await client.http.get("/v1/version", headers=bearer(make_secret()))
        await client.http.get("/v1/version", headers=bearer("sw_x"))
        await client.http.get("/v1/version")
        metrics = (await client.http.get("/metrics", headers=bearer(read.secret))).text
        counted = dict(re.findall(r"slotwise_refused_requests_total{(.*)} ([\d.]+)", metrics))
        assert counted == {
            f'key="{read.key.id}",status="403"': "1.0",
            f'key="{shop.key.id}",status="403"': "1.0",
            f'key="{keys.expired.key.id}",status="401"': "1.0",
            'key="unknown",status="401"': "3.0",
            'key="malformed",status="401"': "1.0",
            'key="none",status="401"': "1.0",
        }

    run_scenario(tmp_path, scenario, with_keys=True)


def test_events_need_no_key_if_each_has_a_token(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        client.use_key(keys.by_scope["serve"])
        tokens = [(await client.recommend("shop"))["token"] for _ in range(8)]
        del client.http.headers["authorization"]

        async def send_events(headers: dict[str, str], *events: dict[str, str]) -> httpx.Response:
            return await client.http.post("/v1/events", json={"events": list(events)}, headers=headers)

        by_id = {"type": "click", "display": "view-1", "position": "hero"}
        read, browser = keys.by_scope["read"].secret, keys.by_scope["browser"].secret
        for headers, refused in (
            ({}, 401),
            (bearer(keys.unknown), 401),
            (bearer(keys.revoked.secret), 401),
            (bearer(read), 403),
            (bearer(browser, ORIGIN), 403),
            (bearer(browser, OTHER_ORIGIN), 403),
        ):
            by_token = {"type": "click", "token": tokens.pop(), "position": "hero"}
            assert (await send_events(headers, by_token, by_id)).status_code == refused
            answer = await send_events(headers, by_token)
            assert answer.json() == {"results": [{"status": "accepted"}]}, headers  # so the batch before had no effect
        discard = await send_events({}, {"type": "discard", "token": tokens.pop()})
        assert discard.json()["results"][0]["status"] == "rejected"
        beacon = {"content-type": "text/plain;charset=UTF-8", "origin": ORIGIN}
        click = f'{{"events": [{{"type": "click", "token": "{tokens.pop()}", "position": "hero"}}]}}'
        answer = await client.http.post("/v1/events", content=click, headers=beacon)
        assert answer.json() == {"results": [{"status": "accepted"}]}
        assert answer.headers["access-control-allow-origin"] == ORIGIN

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_key_above_its_rate_gets_429_until_it_waits(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("read", rate=2.0))
        statuses = [(await client.http.get("/v1/version")).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        answer = await client.http.get("/v1/version")
        assert answer.headers["retry-after"] == "1"
        client.clock.now += 0.5
        statuses = [(await client.http.get("/v1/version")).status_code for _ in range(2)]
        assert statuses == [200, 429]
        forbidden = [(await client.http.put("/v1/pages/a", json={})).status_code for _ in range(2)]
        assert forbidden == [429, 429]
        client.use_key(await client.create_key("read"))
        assert (await client.http.get("/v1/version")).status_code == 200

    run_scenario(tmp_path, scenario, with_keys=True)


def test_one_address_gets_a_share_of_the_rate_of_a_browser_key(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await set_up(client)
        key = await client.create_key("browser", pages=["shop"], origins=[ORIGIN], rate=10.0)

        async def allowed(address: str, number: int) -> int:
            transport = httpx.ASGITransport(client.http._transport.app, client=(address, 1))  # type: ignore[attr-defined]
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                answers = [
                    await http.post("/v1/pages/shop/recommendations", headers=bearer(key.secret, ORIGIN))
                    for _ in range(number)
                ]
            assert {answer.status_code for answer in answers} <= {201, 429}
            return sum(answer.status_code == 201 for answer in answers)

        assert await allowed("10.0.0.1", 15) == 10
        client.clock.now += 1.0
        assert await allowed("10.0.0.1", 15) == 1  # a tenth of the rate
        assert await allowed("10.0.0.2", 15) == 9

    run_scenario(tmp_path, scenario, with_keys=True)


def test_answers_to_many_wrong_keys_of_one_address_are_delayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_access, "GUESS_BURST", 3.0)
    monkeypatch.setattr(key_access, "GUESS_RATE", 1e-3)
    monkeypatch.setattr(key_access, "LONGEST_DELAY", 0.2)

    async def scenario(client: Client) -> None:
        key = await client.create_key("read")

        async def seconds(secret: str) -> float:
            started = time.perf_counter()
            await client.http.get("/v1/version", headers=bearer(secret))
            return time.perf_counter() - started

        for _ in range(3):
            await seconds(make_secret())
        assert await seconds(make_secret()) >= 0.2
        assert await seconds("sw_guess") >= 0.2
        assert min([await seconds(key.secret) for _ in range(5)]) < 0.2  # a right key never waits

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_list_of_pages_has_only_those_of_the_key(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        for key, listed in ((keys.by_scope["read"], ["other", "shop"]), (keys.for_shop["read"], ["shop"])):
            client.use_key(key)
            assert (await client.ok("GET", "/v1/pages"))["pages"] == listed

    run_scenario(tmp_path, scenario, with_keys=True)


@pytest.mark.parametrize("path", ["/v1/pages/shop/recommendations", "/v1/events", "/v1/pages/shop"])
def test_a_preflight_is_answered_for_the_origins_of_active_keys(tmp_path: Path, path: str) -> None:
    async def scenario(client: Client) -> None:
        key = await client.create_key("browser", pages=["shop"], origins=[ORIGIN, "http://localhost:3000"])
        asked = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type",
        }
        for origin in (ORIGIN, "http://localhost:3000"):
            answer = await client.http.options(path, headers=asked | {"origin": origin})
            assert answer.status_code == 204
            assert answer.headers["access-control-allow-origin"] == origin
            assert ("POST" in answer.headers["access-control-allow-methods"]) == (not path.endswith("shop"))
            assert {"authorization", "content-type", "traceparent"} <= set(
                answer.headers["access-control-allow-headers"].lower().split(", ")
            )
            assert answer.headers["vary"] == "Origin"
        for origin in (OTHER_ORIGIN, "null", "https://shop.example.evil.example", "http://shop.example"):
            answer = await client.http.options(path, headers=asked | {"origin": origin})
            assert not [name for name in answer.headers if name.startswith("access-control")]
            assert answer.headers["vary"] == "Origin"
        now = client.clock()
        await client.service.change_keys(lambda ledger: ledger.save_key(revoked(key.key, now)))
        answer = await client.http.options(path, headers=asked | {"origin": ORIGIN})
        assert "access-control-allow-origin" not in answer.headers

    run_scenario(tmp_path, scenario, with_keys=True)


def test_web_pages_can_read_answers_and_refusals(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await set_up(client)
        key = await client.create_key("browser", pages=["shop"], origins=[ORIGIN], rate=1.0)
        path, other = "/v1/pages/shop/recommendations", "/v1/pages/other/recommendations"
        for url, headers, status in (
            (path, bearer(key.secret, ORIGIN), 201),
            (path, bearer(key.secret, ORIGIN), 429),
            (path, {"origin": ORIGIN}, 401),
        ):
            answer = await client.http.post(url, headers=headers)
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == ORIGIN
            assert answer.headers["vary"] == "Origin"
            assert "access-control-allow-credentials" not in answer.headers
        client.clock.now += 10.0
        answer = await client.http.post(other, headers=bearer(key.secret, ORIGIN))
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (403, ORIGIN)
        client.clock.now += 10.0
        answer = await client.http.post(path, headers=bearer(key.secret, OTHER_ORIGIN))
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers

    run_scenario(tmp_path, scenario, with_keys=True)


def test_the_openapi_document_describes_keys(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        document = (await client.http.get("/openapi.json")).json()
        assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
        for route in all_routes():
            if route.name != "root" and not route.web:
                operation = document["paths"][route.path][route.method.lower()]
                needs_key = route.needs != "open"
                assert ("security" in operation) == needs_key
                assert {"401", "429"} <= operation["responses"].keys() or not needs_key

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_key_for_some_pages_cannot_join_a_template(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        keys = await set_up(client)
        everywhere, shop = bearer(keys.by_scope["admin"].secret), bearer(keys.for_shop["admin"].secret)
        definition = {"positions": POSITIONS}
        joining = definition | {"template": "category"}
        for method, body in (("PUT", joining), ("PATCH", {"template": "category"})):
            answer = await client.http.request(method, "/v1/pages/shop", json=body, headers=shop)
            assert (answer.status_code, "all pages" in answer.json()["detail"]) == (403, True)
            assert (await client.http.request(method, "/v1/pages/shop", json=body, headers=everywhere)).is_success
            assert (
                await client.http.request(method, "/v1/pages/shop", json=body, headers=shop)
            ).is_success  # no change
            assert (await client.http.put("/v1/pages/shop", json=definition, headers=shop)).is_success  # leaves it

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_service_that_stops_answers_delayed_guesses_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("GUESS_RATE", 0.001), ("GUESS_BURST", 1.0), ("LONGEST_DELAY", 1000.0)):
        monkeypatch.setattr(key_access, name, value)

    async def scenario(client: Client) -> None:
        guess = bearer("sw_x")
        assert (await client.http.get("/v1/version", headers=guess)).status_code == 401
        delayed = asyncio.create_task(client.http.get("/v1/version", headers=guess))
        assert await asyncio.wait([delayed], timeout=0.1) == (set(), {delayed})
        delayed.cancel()  # as the server does when its time is over
        assert (await delayed).status_code == 401

    run_scenario(tmp_path, scenario, with_keys=True)
