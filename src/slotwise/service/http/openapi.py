"""The OpenAPI 3.1 description, made from the routes."""

import re
from typing import Any

import msgspec

from slotwise.service.api.route import Parameter, Route
from slotwise.service.http.problems import MEDIA_TYPE, ProblemBody
from slotwise.service.pages.limits import ItemName, Name
from slotwise.version import __version__

_ALWAYS = {
    400: "malformed: the address, a header or the JSON",
    403: "not allowed from where it came",
    503: "the store cannot be written, or the service is starting: try again after Retry-After seconds",
}
_WITH_BODY = {
    408: "the body did not arrive in time",
    413: "the body is too large",
    415: "the body is not of a media type that this call takes",
    422: "valid JSON, but not what this call takes: `errors` points to each part",
}
_REF = "#/components/schemas/{name}"


def problems_of(route: Route) -> dict[int, str]:
    """Every status of an error that a route may answer."""
    named = {422: _WITH_BODY[422]} if route.parameters or "{page}" in route.path else {}
    return {**_ALWAYS, **named, **(_WITH_BODY if route.body is not None else {}), **route.problems}


def description(routes: list[Route]) -> dict[str, Any]:
    """The whole document."""
    kinds = [kind for route in routes for kind in _kinds(route)] + [ProblemBody]
    unique = list(dict.fromkeys(kinds))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    known = dict(zip(unique, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "slotwise",
            "version": __version__,
            "summary": "Learns from clicks alone which items to show in which position of a page.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _kinds(route: Route) -> list[Any]:
    answered = [kind for _, kind in route.answers.values() if kind is not None and not isinstance(kind, str)]
    return answered + ([] if route.body is None else [route.body])


def _operation(route: Route, known: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route.path), *map(_parameter, route.parameters)],
        "responses": {
            **{str(status): _answer(status, *answer, known) for status, answer in route.answers.items()},
            **{str(status): _problem(status, about, known) for status, about in sorted(problems_of(route).items())},
        },
    }
    if route.body is not None:
        content = {media_type: {"schema": known[route.body]} for media_type in route.media_types}
        operation["requestBody"] = {"required": not route.body_optional, "content": content}
    return operation


def _answer(status: int, about: str, kind: Any, known: dict[Any, Any]) -> dict[str, Any]:
    if kind is None:
        return {"description": about}
    if isinstance(kind, str):
        return {"description": about, "content": {one: {"schema": {"type": "string"}} for one in kind.split(",")}}
    return {"description": about, "content": {"application/json": {"schema": known[kind]}}}


def _problem(status: int, about: str, known: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": about, "content": {MEDIA_TYPE: {"schema": known[ProblemBody]}}}
    if status == 503:
        answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    return answer


def _path_parameters(path: str) -> list[dict[str, Any]]:
    kinds = {"item": ItemName}
    return [
        {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(kinds.get(name, Name))}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _parameter(one: Parameter) -> dict[str, Any]:
    schema = msgspec.json.schema(one.kind)
    return {"name": one.name, "in": one.where, "required": False, "description": one.about, "schema": schema}
