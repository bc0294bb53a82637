"""Every documented bad request gets its documented status, as problem+json."""

import inspect
from pathlib import Path

import msgspec
import pytest

from slotwise.service.errors import ServiceError
from slotwise.service.http.problems import STATUSES, problem_of
from tests.service.running_service import Client, run_scenario


def repeated(name: str, row: str, times: int) -> str:
    return f'{{"{name}": [{", ".join([row] * times)}]}}'


BAD: dict[str, tuple[str, str, bytes | str, dict, int]] = {
    "not JSON": ("PUT", "/v1/pages/new", b"{", {}, 400),
    "not UTF-8": ("PUT", "/v1/pages/new", b"\xff\xfe", {}, 400),
    "deep": ("PUT", "/v1/pages/new", b'{"params": {"a":' + b"[" * 100_000, {}, 400),
    "a lone surrogate": ("PUT", "/v1/pages/new", b'{"positions": ["\\ud800"]}', {}, 400),
    "a null byte": ("PUT", "/v1/pages/new", b'{"positions": ["a\\u0000"]}', {}, 422),
    "a newline at the end": ("PUT", "/v1/pages/new", b'{"positions": ["a\\n"]}', {}, 422),
    "an unknown field": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "colour": 1}', {}, 422),
    "positions and layouts": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "layouts": {"x": ["b"]}}', {}, 422),
    "a position twice": ("PUT", "/v1/pages/new", b'{"positions": ["a", "a"]}', {}, 422),
    "an unknown policy": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "policy": "magic"}', {}, 422),
    "a policy that cannot serve": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "policy": "pmed"}', {}, 422),
    "a retention too short": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "retention": 60}', {}, 422),
    "a half-life too short": ("PUT", "/v1/pages/new", b'{"positions": ["a"], "half_life": 60}', {}, 422),
    "a name with a space": ("PUT", "/v1/pages/new%20page", b'{"positions": ["a"]}', {}, 422),
    "a null byte in the path": ("PUT", "/v1/pages/a%00b", b'{"positions": ["a"]}', {}, 422),
    "a slash in the path": ("PUT", "/v1/pages/a%2Fb", b'{"positions": ["a"]}', {}, 404),
    "an item of two dots": ("PUT", "/v1/pages/shop/items/%2E%2E", b"{}", {}, 422),
    "a prior of too many clicks": ("PUT", "/v1/pages/shop/items/a", b'{"prior": {"clicks": 2, "views": 1}}', {}, 422),
    "an unknown page": ("GET", "/v1/pages/nothing", b"", {}, 404),
    "an unknown item": ("DELETE", "/v1/pages/shop/items/nothing", b"", {}, 404),
    "an unknown item to read": ("GET", "/v1/pages/shop/items/nothing", b"", {}, 404),
    "an unknown item to change": ("PATCH", "/v1/pages/shop/items/nothing", '{"state": "paused"}', {}, 404),
    "an unknown item with a version": ("PATCH", "/v1/pages/shop/items/nothing", "{}", {"if-match": "*"}, 404),
    "a new item that must exist": ("PUT", "/v1/pages/shop/items/nothing", "{}", {"if-match": "*"}, 412),
    "a new page that must exist": ("PUT", "/v1/pages/new", '{"positions": ["a"]}', {"if-match": "*"}, 412),
    "a stale version of an item": ("DELETE", "/v1/pages/shop/items/hat", b"", {"if-match": '"99"'}, 412),
    "a patch without a body": ("PATCH", "/v1/pages/shop/items/hat", b"", {}, 400),
    "an unknown path": ("GET", "/v2/pages", b"", {}, 404),
    "a wrong method": ("POST", "/v1/pages/shop", b"", {}, 405),
    "a form": ("PUT", "/v1/pages/new", b"a=b", {"content-type": "application/x-www-form-urlencoded"}, 415),
    "10 MB": ("POST", "/v1/events", b" " * 10_000_000, {}, 413),
    "10,000 eligible items": ("POST", "/v1/pages/shop/recommendations", repeated('eligible', '"a"', 10_000), {}, 422),
    "501 events": ("POST", "/v1/events", repeated('events', '{"type": "view", "display": "a"}', 501), {}, 422),
    "1,001 items": ("POST", "/v1/pages/shop/items:batch", repeated('items', '{"item": "a"}', 1001), {}, 422),
    "an id with a slash": ("POST", "/v1/pages/shop/recommendations", '{"id": "a/b"}', {}, 422),
    "an id in Greek": ("POST", "/v1/pages/shop/recommendations", '{"id": "\u03b1"}', {}, 422),
    "a stale version": ("PATCH", "/v1/pages/shop", '{"holdout": 0.5}', {"if-match": '"99"'}, 412),
    "an invalid version": ("PATCH", "/v1/pages/shop", '{"holdout": 0.5}', {"if-match": "x"}, 412),
    "an unknown shortage": ("POST", "/v1/pages/shop/recommendations?on_shortage=x", "{}", {}, 422),
}  # fmt: skip


INVALID_PAGES: dict[str, tuple[str, str]] = {  # the body -> the pointer and an excerpt of the detail
    '{"positions": ["a b"]}': ("/positions/0", "a letter or digit, then letters, digits, dots, dashes and underscores"),
    '{"layouts": {"a b": ["c"]}}': ("/layouts", "a letter or digit, then letters, digits, dots, dashes and "),
    '{"position": ["a"]}': ("", "did you mean `positions`?"),
    '{"positions": ["a"], "xyz": 1}': ("", "known: click_window, count, "),
    '{"positions": ["a"], "mode": "lern"}': ("/mode", "'lern'; allowed: learn, off, shadow"),
    '{"positions": ["a"], "policy": "magic"}': ("/policy", "'magic'; those that can: bc_mpts, feature_ts, greedy, pb"),
    '{"positions": ["a"], "policy": "pmed"}': ("/policy", "policy pmed cannot serve a page; those that can: bc_mpts, "),
    '{"positions": ["a"], "params": {"sweeps": 1000}}': ("/params", "sweeps = 1000 take too long"),
    '{"positions": ["a"], "click_window": 2592000, "retention": 1814400}': ("/retention", "1814400 is shorter than "),
    '{"positions": ["a"], "half_life": 60}': (
        "/half_life",
        "the log is kept for 960 at most, but click_window is 86400: "
        "make half_life at least 5400, or click_window at most 960",
    ),
    '{"positions": ["a"], "half_life": 86400, "retention": 2592000}': (
        "/half_life",
        "but retention is 2592000: make half_life at least 162000, or retention at most 1382400",
    ),
}  # fmt: skip


def test_problems_name_the_field_and_the_allowed_values(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for content, (pointer, excerpt) in INVALID_PAGES.items():
            answer = await client.http.put(
                "/v1/pages/new", content=content, headers={"content-type": "application/json"}
            )
            (wrong,) = answer.json()["errors"]
            assert wrong["pointer"] == pointer
            assert excerpt in wrong["detail"]
        answer = await client.http.put("/v1/pages/a%20b", json={"positions": ["a"]})
        assert "a letter or digit, then letters" in answer.json()["detail"]

    run_scenario(tmp_path, scenario)


def test_every_bad_request_gets_its_problem(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        for what, (method, path, content, headers, status) in BAD.items():
            sent = {"content-type": "application/json", **headers}
            answer = await client.http.request(method, path, content=content, headers=sent)
            assert answer.status_code == status, (what, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            problem = answer.json()
            assert (problem["status"], bool(problem["detail"]), bool(problem["request_id"])) == (status, True, True)
        assert await client.service.store.read(lambda ledger: ledger.page_names()) == ["shop"]

    run_scenario(tmp_path, scenario)


def test_an_internal_error_is_logged_with_the_id_in_its_response(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(ZeroDivisionError("a fault"))
    answered = msgspec.json.decode(problem.content())
    assert answered["status"] == 500
    assert answered["request_id"] in caplog.text
    assert "a fault" in caplog.text


def subclasses(base: type[ServiceError]) -> list[type[ServiceError]]:
    return [known for direct in base.__subclasses__() for known in (direct, *subclasses(direct))]


@pytest.mark.parametrize("error", subclasses(ServiceError))
def test_every_domain_error_has_a_status(error: type[ServiceError]) -> None:
    raised = error("why") if "detail" in inspect.signature(error).parameters else error()
    problem = problem_of(raised)
    assert problem.status == next(STATUSES[base] for base in error.__mro__ if base in STATUSES)
    assert problem.detail == raised.detail
    assert ("retry-after" in problem.headers) == (problem.status in (429, 503))


def test_a_slash_at_the_end_of_a_path_makes_no_difference(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        for method, path, body in (("GET", "/v1/pages", None), ("POST", "/v1/pages/shop/recommendations", {"id": "a"})):
            await client.ok(method, path, body)
            assert await client.ok(method, path, body) == await client.ok(method, f"{path}/", body)
        assert (await client.http.get("/v1/pages//")).status_code == 404

    run_scenario(tmp_path, scenario)
