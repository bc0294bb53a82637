"""The OpenAPI 3.1 document, made from the routes."""

import re
from typing import Any

import msgspec

from slotwise.service.api.examples import BODIES, path_example
from slotwise.service.api.route import JSON, PATH_TYPES, Parameter, Route
from slotwise.service.http.problems import MEDIA_TYPE, PersonalizerProblem, ProblemBody
from slotwise.version import __version__

_INVALID = {422: "valid JSON that does not fit the schema or the page: `errors` points to each invalid field"}
_PROBLEMS_OF_ALL = {
    400: "malformed: the address, a header or the JSON",
    403: "forbidden for requests from this origin",
    503: "the store cannot be written, or the service is starting: retry after Retry-After seconds",
}
_PROBLEMS_OF_BODIES = {
    408: "the body did not arrive in time",
    413: "the body is too large",
    415: "the body has an unsupported media type",
    **_INVALID,
}
_PROBLEMS_OF_KEYS = {
    401: "no valid key",
    403: "the key does not have the scope, or is not for the page or the origin",
    429: "above the rate of the key: retry after Retry-After seconds",
}
_SECURITY_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key: `sw_` and 38 letters and digits. The names at each operation are the scopes of keys.",
    },
    "subscription_key": {
        "type": "apiKey",
        "in": "header",
        "name": "Ocp-Apim-Subscription-Key",
        "description": "A key, as clients of Azure Personalizer send it.",
    },
}
_ETAG = {
    "required": True,
    "description": "the version; send it as If-Match to change exactly this version",
    "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
}
_REF = "#/components/schemas/{name}"
Schemas = dict[Any, Any]  # type -> schema


def openapi_document(routes: list[Route[Any]], with_keys: bool = False) -> dict[str, Any]:
    """The whole document. In dev mode, it does not mention keys."""
    routes = [route for route in routes if not route.web]
    types = [type_ for route in routes for type_ in _body_types(route)] + [ProblemBody, PersonalizerProblem]
    unique = list(dict.fromkeys(types))
    references, components = msgspec.json.schema_components(unique, ref_template=_REF)
    schemas = dict(zip(unique, references, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas, with_keys)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "slotwise",
            "version": __version__,
            "summary": "Learns from clicks alone which items to show in which position of a page.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": components, **({"securitySchemes": _SECURITY_SCHEMES} if with_keys else {})},
    }


def _body_types(route: Route[Any]) -> list[Any]:
    returned = [body for _, body in route.responses.values() if body is not None and not isinstance(body, str)]
    return returned + ([] if route.body is None else [route.body])


def _operation(route: Route[Any], schemas: Schemas, with_keys: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *map(_parameter, route.parameters)],
        "responses": {
            **{
                str(status): _response(*response, schemas, route.has_etag)
                for status, response in route.responses.items()
            },
            **{
                str(status): _problem(status, text, schemas[PersonalizerProblem if route.personalizer else ProblemBody])
                for status, text in sorted(_problems(route, with_keys).items())
            },
        },
    }
    if with_keys and route.needs != "open":
        others: list[Any] = [{}] if route.accepts_tokens else [{"subscription_key": []}] if route.personalizer else []
        operation["security"] = [{"key": [route.needs]}, *others]
    if route.streamed:
        content = _content(route, {"type": "string"})
        operation["requestBody"] = {"required": True, "content": content}
    elif route.body is not None:
        content = _content(route, schemas[route.body])
        operation["requestBody"] = {"required": not route.body_optional, "content": content}
    return operation


def _problems(route: Route[Any], with_keys: bool) -> dict[int, str]:
    """Every error status that a route may return."""
    of_parameters = _INVALID if route.parameters or "{page}" in route.path else {}
    of_body = _PROBLEMS_OF_BODIES if route.body is not None or route.streamed else {}
    of_key = _PROBLEMS_OF_KEYS if with_keys and route.needs != "open" else {}
    return {**_PROBLEMS_OF_ALL, **of_key, **of_parameters, **of_body, **route.problems}


def _response(description: str, body: Any, schemas: Schemas, has_etag: bool) -> dict[str, Any]:
    response: dict[str, Any] = {"description": description}
    if has_etag:
        response["headers"] = {"ETag": _ETAG}
    if isinstance(body, str):
        response["content"] = {
            media_type: {"schema": {"type": "object" if media_type == JSON else "string"}}
            for media_type in body.split(",")
        }
    elif body is not None:
        response["content"] = {"application/json": {"schema": schemas[body]}}
    return response


def _problem(status: int, description: str, schema: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "Bearer"}}
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    return response


def _content(route: Route[Any], schema: Any) -> dict[str, Any]:
    """The body of a request, with an example."""
    example = {"example": BODIES[route.name]} if route.name in BODIES else {}
    return {media_type: {"schema": schema, **example} for media_type in route.media_types}


def _path_parameters(route: Route[Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": msgspec.json.schema(PATH_TYPES[name]),
            "example": path_example(route.name, name),
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": False,
        "description": parameter.description,
        "schema": msgspec.json.schema(parameter.type),
    }
