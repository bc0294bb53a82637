"""Access control of dev mode, which has no keys: only programs and pages of this machine may send requests."""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("headers", [{"x-forwarded-for": "10.0.0.1"}, {"forwarded": "for=10.0.0.1"}])
def test_a_request_through_a_proxy_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    assert status(tmp_path, "GET", headers) == 403


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
