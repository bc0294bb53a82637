"""Traces: a span for each request, which continues the trace of its caller, and one for each group commit."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.traces import TracedApp, trace_commits
from tests.service.running_service import open_client

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RECOMMEND = "/v1/pages/shop/recommendations"


def spans_of(folder: Path) -> list[Any]:
    """The spans of a few requests."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def scenario() -> None:
        async with open_client(folder) as client:
            await client.page()
            tracer = provider.get_tracer("test")
            trace_commits(client.service, tracer)
            app = TracedApp(make_app(client.service, DevAccess()), tracer)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
                headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "cookie": "visitor=ada"}
                shown = (await http.post(f"{RECOMMEND}?secret=1", json={}, headers=headers)).json()
                click = {"type": "click", "token": shown["token"], "position": "hero"}
                await http.post("/v1/events", json={"events": [click]}, headers={"traceparent": "not valid"})
                await http.get("/v1/pages/unknown")
                await http.get("/nowhere")
                client.service._pages.ready = False
                await http.get("/readyz")
                client.service._pages.ready = True

    asyncio.run(scenario())
    return list(exporter.get_finished_spans())


def test_requests_and_commits_have_spans(tmp_path: Path) -> None:
    spans = spans_of(tmp_path)
    requests = {span.name: span for span in spans if span.kind == SpanKind.SERVER}
    names = ["POST /v1/pages/{page}/recommendations", "POST /v1/events", "GET /v1/pages/{page}", "GET", "GET /readyz"]
    assert list(requests) == names
    shown = requests[names[0]]
    assert format(shown.context.trace_id, "032x") == TRACE
    assert format(shown.parent.span_id, "016x") == PARENT
    assert dict(shown.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 201,
        "http.route": "/v1/pages/{page}/recommendations",
        "slotwise.page": "shop",
    }
    assert requests["POST /v1/events"].parent is None
    statuses = [span.attributes["http.response.status_code"] for span in requests.values()]
    assert statuses == [201, 200, 404, 404, 503]
    assert [span.status.status_code for span in requests.values()] == [StatusCode.UNSET] * 4 + [StatusCode.ERROR]
    commits = [span for span in spans if span.name == "group commit"]
    assert sum(span.attributes["slotwise.group_size"] for span in commits) >= 2, "the display and the event"
    assert all(span.end_time >= span.start_time for span in commits)
