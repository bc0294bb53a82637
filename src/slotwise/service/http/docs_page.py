"""Describe the HTTP interface as a web page. It is one file without scripts, made from the OpenAPI document."""

import base64
import hashlib
import json
from typing import Any

from jinja2 import Environment

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.6rem; border: 1px solid #8884; border-radius: 6px; }
summary { cursor: pointer; padding: 0.3rem 0; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>slotwise: the HTTP interface</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{{ style | safe }}</style></head><body>
<h1>slotwise {{ document.info.version }}</h1>
<p>{{ document.info.summary }} The same as an OpenAPI document: <a href="/openapi.json">/openapi.json</a>.</p>
{% for tag, operations in tags.items() %}<h2>{{ tag }}</h2>
{% for path, method, operation in operations %}<details id="{{ operation.operationId }}"><summary>
<span class="method">{{ method | upper }}</span> <code>{{ path }}</code> {{ operation.summary }}</summary>
{% if operation.security %}<p>needs a key with the scope {{ operation.security[0].key[0] }}
{% if operation.security[1:] %} or tokens{% endif %}</p>{% endif %}
{% if operation.parameters %}<table>{% for parameter in operation.parameters %}
<tr><td><code>{{ parameter.name }}</code></td><td>{{ parameter.in }}</td>
<td>{{ parameter.description or parameter.schema.description }}</td></tr>{% endfor %}</table>{% endif %}
{% if operation.requestBody %}<p>request body</p>
{% for body in operation.requestBody.content.values() %}{% if loop.first %}
<pre>{{ schema_text(body.schema) }}</pre>{% endif %}{% endfor %}{% endif %}
<table>{% for status, response in operation.responses.items() %}<tr><th>{{ status }}</th><td>{{ response.description }}
{% if status < "300" and response.content %}{% for body in response.content.values() %}{% if loop.first %}
<pre>{{ schema_text(body.schema) }}</pre>{% endif %}{% endfor %}{% endif %}</td></tr>{% endfor %}</table></details>
{% endfor %}{% endfor %}</body></html>
"""
_hash = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = f"default-src 'none'; style-src 'sha256-{_hash}'; base-uri 'none'; frame-ancestors 'none'"


def docs_page(document: dict[str, Any]) -> bytes:
    """The page as HTML."""
    tags: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append((path, method, operation))
    template = Environment(autoescape=True).from_string(_PAGE)

    def schema_text(schema: dict[str, Any]) -> str:
        return json.dumps(_inlined(schema, document["components"]["schemas"]), indent=2)

    return template.render(document=document, tags=tags, style=_STYLE, schema_text=schema_text).encode()


def _inlined(schema: Any, components: dict[str, Any]) -> Any:
    """A schema with its references replaced by the schemas that they refer to. No schema refers to itself."""
    if isinstance(schema, list):
        return [_inlined(entry, components) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(components[schema["$ref"].rpartition("/")[2]], components)
    return {key: _inlined(value, components) for key, value in schema.items()}
