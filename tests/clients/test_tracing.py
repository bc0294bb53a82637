"""Traces of the client: a span of OpenTelemetry for each call. Without OpenTelemetry, calls work without spans."""

import asyncio
import importlib
import sys
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from slotwise_client import AsyncClient, Client, Options
from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.waiting import HANG

NOWHERE = "http://127.0.0.1:1"


class Recorder:
    """A provider of OpenTelemetry, and the spans that have ended."""

    def __init__(self) -> None:
        self.provider, self._exporter = TracerProvider(), InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def options(self, **options: Any) -> Options:
        return Options(tracer_provider=self.provider, **{"timeout": HANG, "event_timeout": HANG} | options)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def shop(service: Process, page: str) -> str:
    service.http.put(f"/v1/pages/{page}", json={"positions": POSITIONS}).raise_for_status()
    items = [{"item": item} for item in ITEMS]
    service.http.post(f"/v1/pages/{page}/items:batch", json={"items": items}).raise_for_status()
    return page


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The header `traceparent` of each request of a Client."""
    headers: list[str] = []
    original = httpx.Client.post

    def record(self: httpx.Client, *arguments: Any, **named: Any) -> httpx.Response:
        headers.append(named["headers"].get("traceparent"))
        return original(self, *arguments, **named)

    monkeypatch.setattr(httpx.Client, "post", record)
    return headers


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def header_of(span: ReadableSpan) -> str:
    assert span.context is not None
    trace, id, flags = span.context.trace_id, span.context.span_id, span.context.trace_flags
    return f"00-{trace:032x}-{id:016x}-{flags:02x}"


def test_a_call_has_a_span_within_the_trace_of_its_page_view(
    service: Process, shop: str, recorder: Recorder, sent: list[str]
) -> None:
    tracer = recorder.provider.get_tracer("test")
    with Client(service.address, None, recorder.options()) as client, tracer.start_as_current_span("page view"):
        client.click(client.recommend(shop), "hero")
        client.flush(HANG)
    recommended, events, view = recorder.spans
    assert (recommended.name, recommended.kind) == ("slotwise recommend", SpanKind.CLIENT)
    assert recommended.parent == view.context
    assert recommended.status.status_code is StatusCode.UNSET
    assert attributes_of(recommended) == {
        "slotwise.page": shop,
        "slotwise.attempts": 1,
        "slotwise.source": "service",
        "http.response.status_code": 201,
    }
    assert (events.name, events.parent) == ("slotwise send events", None), "its events come from many page views"
    assert attributes_of(events) == {"slotwise.events": 1, "slotwise.attempts": 1, "http.response.status_code": 200}
    assert sent == [header_of(recommended), header_of(events)], "the service continues the trace"


def test_a_fallback_is_an_error_with_its_attempts(recorder: Recorder) -> None:
    options = recorder.options(retries=2, breaker_failures=3)
    with Client(NOWHERE, None, options) as client:
        assert client.recommend("shop").source == "default"
        assert client.recommend("shop").source == "default", "the circuit breaker is open"
    first, second = recorder.spans
    assert attributes_of(first) == {"slotwise.page": "shop", "slotwise.attempts": 3, "slotwise.source": "default"}
    assert attributes_of(second) == {"slotwise.page": "shop", "slotwise.attempts": 0, "slotwise.source": "default"}
    assert {span.status.status_code for span in (first, second)} == {StatusCode.ERROR}
    assert "circuit breaker" in (second.status.description or "")


def test_what_the_service_refuses_is_an_error_with_its_status(service: Process, shop: str, recorder: Recorder) -> None:
    with Client(service.address, None, recorder.options()) as client:
        client.recommend(f"{shop}-unknown")
    (span,) = recorder.spans
    assert attributes_of(span)["http.response.status_code"] == 404
    assert span.status.status_code is StatusCode.ERROR


def test_the_spans_of_the_async_client_have_their_own_page_views(
    service: Process, shop: str, recorder: Recorder
) -> None:
    """The task that sends events starts within one page view, and its spans must not belong to it."""
    tracer = recorder.provider.get_tracer("test")

    async def view(client: AsyncClient, name: str) -> None:
        with tracer.start_as_current_span(name):
            client.click(await client.recommend(shop), "hero")

    async def run() -> None:
        async with AsyncClient(service.address, None, recorder.options()) as client:
            await asyncio.gather(view(client, "one"), view(client, "two"))
            await client.flush(HANG)

    asyncio.run(run())
    spans = {span.name: span for span in recorder.spans}
    views = {span.context.span_id for span in recorder.spans if span.context and span.name in ("one", "two")}
    parents = [span.parent for span in recorder.spans if span.name == "slotwise recommend"]
    assert {parent.span_id for parent in parents if parent} == views
    assert spans["slotwise send events"].parent is None


class BrokenProvider(TracerProvider):
    """A provider whose spans cannot be started."""

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return object()


def test_a_provider_that_fails_breaks_no_page(service: Process, shop: str) -> None:
    options = Options(tracer_provider=BrokenProvider(), timeout=HANG)
    with Client(service.address, None, options) as client:
        assert client.recommend(shop).source == "service"


def test_opentelemetry_is_optional(
    service: Process, shop: str, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(ImportError):
        importlib.import_module("opentelemetry.trace")
    with Client(service.address, None, Options(timeout=HANG)) as client:
        client.click(client.recommend(shop), "hero")
        assert client.flush(HANG)
        assert client.outcomes == {"accepted": 1}
    assert sent == [None, None]
