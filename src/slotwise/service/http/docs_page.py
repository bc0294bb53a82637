"""Describe the HTTP interface as a web page, on which people can try it. It is made from the OpenAPI document."""

import json
import re
from typing import Any

from markupsafe import Markup

from slotwise.service.api.route import Response
from slotwise.service.web.html import html_response

ONE_LINE = 90  # characters
_TITLES = {
    "pages": "Pages and items",
    "serving": "Show displays and learn",
    "learnt": "What was learnt",
    "keys": "Keys",
    "personalizer": "Calls of Azure Personalizer",
    "operations": "Operations",
}


def docs_page(document: dict[str, Any]) -> Response:
    """The page."""
    tags: dict[str, list[dict[str, Any]]] = {tag: [] for tag in _TITLES}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            described = _describe(path, method, operation, document["components"]["schemas"])
            tags.setdefault(operation["tags"][0], []).append(described)
    return html_response(
        200,
        "docs/docs.html",
        version=document["info"]["version"],
        summary=document["info"]["summary"],
        with_keys="securitySchemes" in document["components"],
        tags={tag: listed for tag, listed in tags.items() if listed},
        titles=_TITLES,
    )


def _describe(path: str, method: str, operation: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of an operation."""
    security = operation.get("security", [])
    body = next(iter(operation.get("requestBody", {}).get("content", {}).items()), None)
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": _with_code(operation["summary"]),
        "scope": security[0]["key"][0] if security else "",
        "or_tokens": {} in security,
        "parameters": [_parameter(described) for described in operation["parameters"]],
        "media_type": body[0] if body else "",
        "body": _example(body[1].get("example", {})) if body else "",
        "schema": _text(body[1]["schema"], components) if body else "",
        "responses": [_response(status, r, components) for status, r in operation["responses"].items()],
    }


def _parameter(described: dict[str, Any]) -> dict[str, Any]:
    schema = described["schema"]
    return {
        "name": described["name"],
        "where": described["in"],
        "required": described["required"],
        "about": _with_code(described.get("description") or schema.get("description", "")),
        "choices": schema.get("enum", []),
        "value": described.get("example", ""),
    }


def _response(status: str, response: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    content = next(iter(response.get("content", {}).values()), None)
    shown = content is not None and status < "300" and content["schema"] != {"type": "string"}
    return {
        "status": status,
        "about": _with_code(response["description"]),
        "schema": _text(content["schema"], components) if content is not None and shown else "",
    }


def _with_code(text: str) -> Markup:
    """Text of the OpenAPI document, in which code has backticks."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(Markup("<code>{}</code>" if k % 2 else "{}").format(part) for k, part in enumerate(parts))


def _example(body: Any) -> str:
    """An example as a text, on one line if it is short."""
    if isinstance(body, str):
        return body
    line = json.dumps(body)
    return line if len(line) <= ONE_LINE else json.dumps(body, indent=2)


def _text(schema: dict[str, Any], components: dict[str, Any]) -> str:
    return json.dumps(_inlined(schema, components), indent=2)


def _inlined(schema: Any, components: dict[str, Any]) -> Any:
    """A schema with its references replaced by the schemas that they refer to. No schema refers to itself."""
    if isinstance(schema, list):
        return [_inlined(entry, components) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(components[schema["$ref"].rpartition("/")[2]], components)
    return {key: _inlined(value, components) for key, value in schema.items()}
