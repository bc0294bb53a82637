"""Access control of dev mode, which has no keys."""

from pathlib import Path

import pytest

from tests.service.running_service import Client, run_scenario


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        ({"host": "evil.example"}, "GET", 403),
        ({"host": "localhost:8080"}, "GET", 200),
        ({"host": "127.0.0.1"}, "GET", 200),
        ({"host": "[::1]:8080"}, "GET", 200),
        ({"host": "localhost@evil.example"}, "GET", 403),
        ({"x-forwarded-for": "10.0.0.1"}, "GET", 403),
        ({"forwarded": "for=10.0.0.1"}, "GET", 403),
        ({"origin": "http://evil.example"}, "PUT", 403),
        ({"origin": "null"}, "PUT", 403),
        ({"origin": "http://localhost"}, "PUT", 201),
        ({"sec-fetch-site": "cross-site"}, "PUT", 403),
        ({"sec-fetch-site": "same-origin"}, "PUT", 201),
        ({"sec-fetch-site": "cross-site"}, "GET", 200),
    ],
)
def test_without_keys_only_this_machine_is_answered(tmp_path: Path, headers: dict, method: str, status: int) -> None:
    async def scenario(one: Client) -> None:
        if method == "GET":
            answer = await one.http.get("/v1/version", headers=headers)
        else:
            answer = await one.http.put("/v1/pages/shop", headers=headers, json={"positions": ["a"]})
        assert answer.status_code == status

    run_scenario(tmp_path, scenario)
