"""Trace headers, such as `traceparent`: from the caller's hook, or from OpenTelemetry if it is installed."""

import importlib
import logging
from collections.abc import Callable, Mapping

_log = logging.getLogger("slotwise_client")


def find_trace_headers(hook: Callable[[], Mapping[str, str]] | None) -> Callable[[], dict[str, str]]:
    """A function that returns the headers of the current trace. It never fails: tracing must not break a page."""
    current = hook or _opentelemetry_headers()

    def headers() -> dict[str, str]:
        try:
            return dict(current())
        except Exception:
            _log.exception("the hook for trace headers failed")
            return {}

    return headers


def _opentelemetry_headers() -> Callable[[], Mapping[str, str]]:
    try:
        inject = importlib.import_module("opentelemetry.propagate").inject
    except ImportError:
        return dict

    def headers() -> Mapping[str, str]:
        found: dict[str, str] = {}
        inject(found)
        return found

    return headers
