"""The example requests of the OpenAPI document: they are valid, and they work on a real service, in their order."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.api.examples import BANNER, BODIES, OF_KEY, path_example
from slotwise.service.api.state_lines import NDJSON
from slotwise.service.http.app import all_routes
from slotwise.service.http.openapi import openapi_document
from slotwise.service.http.validation import body_decoder
from slotwise.service.keys.api_keys import make_secret
from slotwise.service.tokens import TokenClaims, Tokens
from tests.service.running_service import Client, run_scenario

ROUTES = {route.name: route for route in all_routes() if not route.web and (route.body or route.streamed)}


def test_every_body_has_an_example() -> None:
    assert set(BODIES) == set(ROUTES)
    for methods in openapi_document(all_routes(has_keys=True), with_keys=True)["paths"].values():
        for operation in methods.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                assert content["example"] == BODIES[operation["operationId"]]


def test_no_example_has_a_secret() -> None:
    """Neither a key nor a signed token, which secret scanners would find in a public document."""
    key, token = r"sw_[0-9A-Za-z]{38}", r"\.[0-9a-f]{40}\b"
    display = TokenClaims("display", 1, 1)
    assert re.fullmatch(key, make_secret())
    assert re.search(token, Tokens([(0.0, "secret")]).sign(display, 1.0))
    document = json.dumps(openapi_document(all_routes(has_keys=True), with_keys=True))
    assert not re.search(f"{key}|{token}", document)


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if not route.streamed])
def test_an_example_is_valid_for_the_decoder_of_its_route(name: str) -> None:
    decode = body_decoder(ROUTES[name].body, ROUTES[name].body_optional)  # type: ignore[arg-type]
    assert isinstance(decode(json.dumps(BODIES[name]).encode()), ROUTES[name].body)  # type: ignore[arg-type]


def test_the_examples_work_on_a_real_service_in_their_order(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        admin = await client.create_key("admin")
        client.use_key(admin)
        await client.page(BANNER, positions=["hero"])
        created: dict[str, Any] = {}
        for name, body in BODIES.items():
            route = ROUTES[name]
            path, page = route.path, path_example(name, "page")
            client.use_key(await client.create_key("serve", "feedback", pages=[page]) if OF_KEY in name else admin)
            for parameter in ("page", "item", "layout", "position", "version", "event"):
                path = path.replace(f"{{{parameter}}}", path_example(name, parameter))
            path = path.replace("{key}", created.get("id", ""))
            if route.streamed:
                answer = await client.http.put(path, content=body, headers={"content-type": NDJSON})
            else:
                answer = await client.http.request(route.method, path, json=body)
            assert answer.status_code in route.responses, (name, answer.text)
            results = answer.json().get("results", []) if answer.content else []
            assert {row["status"] for row in results} <= {"accepted", "created", "changed"}
            if name == "create_key":
                created = answer.json()

    run_scenario(tmp_path, scenario, with_keys=True)
