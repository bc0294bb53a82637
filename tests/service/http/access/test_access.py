"""Access control of dev mode, which has no keys: only programs and pages of this machine may send requests."""

from pathlib import Path

import pytest

from slotwise.service.http.access.forwarding import forwarding_header
from tests.service.running_service import Client, run_scenario


def status(tmp_path: Path, method: str, headers: dict[str, str]) -> int:
    """The status of a read (GET) or of a write (PUT) with these headers."""
    statuses = []

    async def scenario(client: Client) -> None:
        if method == "GET":
            answer = await client.http.get("/v1/version", headers=headers)
        else:
            answer = await client.http.put("/v1/pages/shop", headers=headers, json={"positions": ["a"]})
        statuses.append(answer.status_code)

    run_scenario(tmp_path, scenario)
    return statuses[0]


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:8080"])
def test_this_machine_is_answered_under_all_its_names(tmp_path: Path, host: str) -> None:
    assert status(tmp_path, "GET", {"host": host}) == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost@evil.example"])
def test_another_host_name_is_refused(tmp_path: Path, host: str) -> None:
    assert status(tmp_path, "GET", {"host": host}) == 403


FORWARDED = [
    "CF-Connecting-IP",
    "CF-Ray",
    "Fastly-Client-IP",
    "Fly-Client-IP",
    "Forwarded",
    "True-Client-IP",
    "Via",
    "X-Amzn-Trace-Id",
    "X-Azure-ClientIP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Envoy-External-Address",
    "X-Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "X-Original-Forwarded-For",
    "X-Real-IP",
]


def test_a_request_through_a_proxy_is_refused(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for name in FORWARDED:
            answer = await client.http.get("/v1/version", headers={name: "10.0.0.1"})
            assert answer.status_code == 403, name
            assert name.lower() in answer.json()["detail"]

    run_scenario(tmp_path, scenario)


def test_headers_of_ordinary_clients_are_no_forwarding_headers() -> None:
    names = b"""accept accept-encoding accept-language authorization connection content-length content-type cookie dnt
    expect host if-match origin pragma priority referer sec-ch-ua sec-fetch-site te traceparent tracestate user-agent
    x-request-id x-requested-with"""
    assert forwarding_header(names.split()) is None


@pytest.mark.parametrize(
    ("origin", "expected"), [("http://evil.example", 403), ("null", 403), ("http://localhost", 201)]
)
def test_only_an_origin_on_this_machine_may_write(tmp_path: Path, origin: str, expected: int) -> None:
    assert status(tmp_path, "PUT", {"origin": origin}) == expected


@pytest.mark.parametrize(
    ("method", "site", "expected"),
    [("PUT", "cross-site", 403), ("PUT", "same-origin", 201), ("GET", "cross-site", 200)],
)
def test_a_page_of_another_site_may_not_write(tmp_path: Path, method: str, site: str, expected: int) -> None:
    assert status(tmp_path, method, {"sec-fetch-site": site}) == expected
