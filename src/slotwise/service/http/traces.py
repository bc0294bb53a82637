"""OpenTelemetry traces: a span for each request, and one for each group that the store commits.

Spans have the route, the page and the status. They have no query, no header and no address.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slotwise.service.service import Service
from slotwise.version import __version__

_NANOSECONDS = 1e9
_PROPAGATED = (b"traceparent", b"tracestate")
_propagator = TraceContextTextMapPropagator()


class TracedApp:
    """An application with a span for each request. The span continues the trace of the `traceparent` header."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app, self._tracer = app, tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        carrier = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _PROPAGATED}
        context, method = _propagator.extract(carrier), scope["method"]
        with self._tracer.start_as_current_span(method, context, SpanKind.SERVER) as span:

            async def send_and_note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            span.set_attribute("http.request.method", method)
            await self._app(scope, receive, send_and_note)
            route = scope.get("route_path")  # only of a path that exists
            if route is not None:
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
                if "page" in scope["path_params"]:
                    span.set_attribute("slotwise.page", scope["path_params"]["page"])


def trace_commits(service: Service, tracer: Tracer) -> None:
    """Make a span for each group that the store of a service commits."""

    def note(size: int, seconds: float) -> None:
        ended = time.time_ns()
        span = tracer.start_span("group commit", start_time=ended - int(_NANOSECONDS * seconds))
        span.set_attribute("slotwise.group_size", size)
        span.end(ended)

    service.on_commit = note


@contextmanager
def exporting_tracer() -> Iterator[Tracer]:
    """A tracer that sends its spans by OTLP over HTTP. The variables of OpenTelemetry (OTEL_...) configure it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    resource = Resource.create({"service.name": "slotwise", "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider.get_tracer("slotwise", __version__)
    finally:
        provider.shutdown()
