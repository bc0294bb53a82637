"""The log of a running service: a line for each request, ids of requests, and no secrets."""

import json
import logging
import re
from pathlib import Path

import pytest

from slotwise.service.api.route import Response
from slotwise.service.http.request_log import MOST_WARNINGS, RequestLog, request_id
from slotwise.service.keys.api_keys import make_secret
from slotwise.service.log_output import JsonLines, TextLines, fields_of
from slotwise.service.tokens import TokenClaims, Tokens
from tests.service.running_service import ITEMS, POSITIONS, Client, Process, process, run_scenario

RECOMMEND = "/v1/pages/shop/recommendations"


def define(server: Process) -> None:
    server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()


def test_every_request_has_a_line_at_debug_and_no_line_has_a_secret(tmp_path: Path) -> None:
    key = make_secret()
    with process(tmp_path / "shop.db", options=("--log-level", "debug", "--log-format", "json")) as server:
        define(server)
        headers = {"X-Request-Id": "view-7", "Authorization": f"Bearer {key}", "Cookie": "visitor=ada-lovelace"}
        answer = server.http.post(RECOMMEND, json={}, headers=headers)
        token = answer.json()["token"]
        assert answer.headers["x-request-id"] == "view-7"
        server.http.post("/v1/events", json={"events": [{"type": "view", "token": token}]}).raise_for_status()
        bad = {"events": [{"type": "click", "token": token, "position": 3}]}
        refused = server.http.post("/v1/events", json=bad, headers={"X-Request-Id": "bad\tid"})
        misplaced = server.http.get(f"/v1/pages/{key}?key={key}&token={token}", headers={"X-Request-Id": "lost"})
        assert refused.status_code == 422
        assert misplaced.json()["request_id"] == "lost"
        server.process.terminate()
        errors = server.process.communicate()[1]
    lines = [json.loads(line) for line in errors.splitlines()]
    requests = [line for line in lines if line["logger"] == "slotwise.requests"]
    (shown,) = [line for line in requests if line["route"] == "recommend"]
    assert (shown["request_id"], shown["status"], shown["method"], shown["path"]) == ("view-7", 201, "POST", RECOMMEND)
    assert shown["ms"] > 0
    (rejected,) = [line for line in requests if line["status"] == 422]
    assert rejected["request_id"] == refused.json()["request_id"]
    assert rejected["level"] == "info"
    assert rejected["message"] == refused.json()["detail"]
    assert [line["request_id"] for line in requests if line["status"] == 404] == ["lost"]
    for secret in (key, key[3:], token, token.rpartition(".")[2], "ada-lovelace", "127.0.0.1"):
        assert secret not in errors


@pytest.mark.parametrize("given", ["a", "7f.A:~+/=-_", "x" * 128])
def test_a_valid_id_is_kept(given: str) -> None:
    assert request_id({b"x-request-id": given.encode()}) == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "<script>", "a\n", "\xe9"])
def test_an_invalid_id_is_replaced(given: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", request_id({b"x-request-id": given.encode("latin-1")}))


class Records(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def test_warnings_are_limited_and_the_omitted_ones_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, kept = [100.0], Records()
    monkeypatch.setattr("slotwise.service.http.request_log.monotonic", lambda: now[0])
    monkeypatch.setattr(logging.getLogger("slotwise.requests"), "handlers", [kept])
    log, scope = RequestLog("recommend"), {"method": "POST", "path": "/"}
    for _ in range(MOST_WARNINGS + 5):
        log.write(scope, Response(503), "id", "down", 0.1)
    assert len(kept.records) == MOST_WARNINGS
    now[0] += 1.0
    log.write(scope, Response(503), "id", "down", 0.1)
    assert fields_of(kept.records[-1])["omitted"] == 5


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()], ids=["text", "json"])
def test_keys_are_redacted_in_messages_fields_and_tracebacks(formatter: logging.Formatter) -> None:
    key = make_secret()
    try:
        raise ValueError(f"no such key: {key}")
    except ValueError as error:
        caught = (type(error), error, error.__traceback__)
    record = logging.LogRecord("slotwise", logging.ERROR, __file__, 1, "failed for %s", (key,), caught)
    record.fields = {"path": f"/v1/keys/{key}"}
    line = formatter.format(record)
    assert key not in line
    assert line.count("sw_[redacted]") == 3


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()], ids=["text", "json"])
def test_keys_and_tokens_in_a_path_are_redacted(formatter: logging.Formatter, monkeypatch: pytest.MonkeyPatch) -> None:
    key, kept = make_secret(), Records()
    monkeypatch.setattr(logging.getLogger("slotwise.requests"), "handlers", [kept])
    token = Tokens([(0.0, "secret")]).sign(TokenClaims("view-7", 12345, 1), 1e9)
    paths = [f"/v1/pages/my_{key}", f"/v1/pages/{token}", *(f"/v1/pages/{'x' * n}-{key}" for n in range(145, 195, 10))]
    for path in paths:
        RequestLog("get_page").write({"method": "GET", "path": path}, Response(500), "id", f"no page {path!r}", 0.1)
    lines = [formatter.format(record) for record in kept.records]
    assert len(lines) == len(paths)
    for line in lines:
        assert key[:12] not in line
        assert token.rpartition(".")[2][:12] not in line
    assert "view-7.[redacted]" in lines[1]


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()], ids=["text", "json"])
@pytest.mark.parametrize("break_", ["\n", "\r", "\x1b[2K", "\x85", "\u2028"])
def test_no_request_can_forge_a_line(formatter: logging.Formatter, break_: str) -> None:
    forged = f"x{break_}2026-01-01T00:00:00.000Z WARNING forged"
    record = logging.LogRecord("slotwise", logging.ERROR, __file__, 1, "unknown field `%s`", (forged,), None)
    record.fields = {"path": f"/v1/pages/{forged}"}
    line = formatter.format(record)
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_unknown_paths_and_methods_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "slotwise.requests")

    async def scenario(client: Client) -> None:
        for method, path, status in (("GET", "/wp-login.php", 404), ("DELETE", "/v1/pages", 405)):
            answer = await client.http.request(method, path, headers={"X-Request-Id": "scan"})
            assert (answer.status_code, answer.headers["x-request-id"]) == (status, "scan")
        metrics = (await client.http.get("/metrics")).text
        assert 'slotwise_requests_total{route="not_found",status="404"} 1.0' in metrics
        assert 'slotwise_requests_total{route="not_allowed",status="405"} 1.0' in metrics

    run_scenario(tmp_path, scenario)
    assert [fields_of(record)["status"] for record in caplog.records] == [404, 405]
