"""Traces: a span of OpenTelemetry for each call of the service, and headers that continue the trace in the service.

OpenTelemetry is optional: without it, calls have no spans. Nothing here raises, because tracing must not break a page.
"""

import importlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from slotwise_client.flow import Answer, Exchange
from slotwise_client.options import Options
from slotwise_client.version import __version__

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Attribute = str | int
_log = logging.getLogger("slotwise_client")


class Call:
    """One call of the service, with all its attempts. `headers` are those of its trace."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.attributes: dict[str, Attribute] = {"slotwise.attempts": 0}
        self.failure: str | None = None  # why the call failed
        self._attempts = 0

    def attempted(self, result: Exchange) -> None:
        """Note an attempt and its result."""
        self._attempts += 1
        self.attributes["slotwise.attempts"] = self._attempts
        if isinstance(result, Answer):
            self.attributes["http.response.status_code"] = result.status
        else:
            self.attributes.pop("http.response.status_code", None)


class Tracing:
    """Makes spans with the provider of the options. By default, that is the global one of OpenTelemetry."""

    def __init__(self, options: Options) -> None:
        self._hook = options.trace_headers
        self._tracer = _find_tracer(options)

    @contextmanager
    def call(self, name: str, attributes: Mapping[str, Attribute], is_root: bool = False) -> Iterator[Call]:
        """A call, which has a span until the block ends. With `is_root`, it begins a trace of its own."""
        call = Call()
        span = None if self._tracer is None else _start(self._tracer, name, attributes, is_root, call.headers)
        if self._hook is not None and not is_root:
            call.headers = _headers_of(self._hook)
        try:
            yield call
        finally:
            if span is not None:
                _end(span, call)


def _find_tracer(options: Options) -> "Tracer | None":
    try:
        trace = importlib.import_module("opentelemetry.trace")
        tracer: Tracer = trace.get_tracer("slotwise_client", __version__, options.tracer_provider)
    except ImportError:
        return None
    except Exception:
        _log.exception("OpenTelemetry has no tracer for the client")
        return None
    return tracer


def _start(
    tracer: "Tracer", name: str, attributes: Mapping[str, Attribute], is_root: bool, headers: dict[str, str]
) -> "Span | None":
    try:
        from opentelemetry.context import Context
        from opentelemetry.propagate import inject
        from opentelemetry.trace import SpanKind, set_span_in_context

        context = Context() if is_root else None  # None is the current context
        span = tracer.start_span(name, context, SpanKind.CLIENT, attributes)
        inject(headers, set_span_in_context(span, context))
    except Exception:
        _log.exception("the span of a call could not be started")
        return None
    return span


def _end(span: "Span", call: Call) -> None:
    try:
        from opentelemetry.trace import StatusCode

        span.set_attributes(call.attributes)
        if call.failure is not None:
            span.set_status(StatusCode.ERROR, call.failure)
        span.end()
    except Exception:
        _log.exception("the span of a call could not be ended")


def _headers_of(hook: Callable[[], Mapping[str, Any]]) -> dict[str, str]:
    try:
        return dict(hook())
    except Exception:
        _log.exception("the hook for trace headers failed")
        return {}
