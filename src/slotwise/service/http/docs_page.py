"""The human page of the HTTP interface: one file without scripts, made from the OpenAPI description."""

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
<p>{{ document.info.summary }} Every call below, for machines: <a href="/openapi.json">/openapi.json</a>.</p>
{% for tag, calls in tags.items() %}<h2>{{ tag }}</h2>
{% for path, method, call in calls %}<details id="{{ call.operationId }}"><summary>
<span class="method">{{ method | upper }}</span> <code>{{ path }}</code> {{ call.summary }}</summary>
{% if call.parameters %}<table>{% for one in call.parameters %}<tr><td><code>{{ one.name }}</code></td>
<td>{{ one.in }}</td><td>{{ one.description or one.schema.description }}</td></tr>{% endfor %}</table>{% endif %}
{% if call.requestBody %}<p>body</p>{% for kind, body in call.requestBody.content.items() %}{% if loop.first %}
<pre>{{ shown(body.schema) }}</pre>{% endif %}{% endfor %}{% endif %}
<table>{% for status, answer in call.responses.items() %}<tr><th>{{ status }}</th><td>{{ answer.description }}
{% if status < "300" and answer.content %}{% for body in answer.content.values() %}{% if loop.first %}
<pre>{{ shown(body.schema) }}</pre>{% endif %}{% endfor %}{% endif %}</td></tr>{% endfor %}</table></details>
{% endfor %}{% endfor %}</body></html>
"""
_hash = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = f"default-src 'none'; style-src 'sha256-{_hash}'; base-uri 'none'; frame-ancestors 'none'"


def docs_page(document: dict[str, Any]) -> bytes:
    """The page."""
    tags: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            tags.setdefault(call["tags"][0], []).append((path, method, call))
    template = Environment(autoescape=True).from_string(_PAGE)

    def shown(schema: dict[str, Any]) -> str:
        return json.dumps(_inlined(schema, document["components"]["schemas"]), indent=2)

    return template.render(document=document, tags=tags, style=_STYLE, shown=shown).encode()


def _inlined(schema: Any, known: dict[str, Any]) -> Any:
    """A schema with what it refers to put in its place; none of ours refers to itself."""
    if isinstance(schema, list):
        return [_inlined(one, known) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(known[schema["$ref"].rpartition("/")[2]], known)
    return {key: _inlined(value, known) for key, value in schema.items()}
