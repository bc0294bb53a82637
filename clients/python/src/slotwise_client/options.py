"""The settings of a client."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise_client.event import EventOutcome

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings of a client. All times are in seconds.

    >>> Options(timeout=0.1, queue_size=50_000).timeout
    0.1
    """

    #: a page waits at most this long for a recommendation, including all retries
    timeout: float = 0.25
    #: how often a recommendation is repeated after a failure, if there is time left
    retries: int = 2
    #: after this many failures in a row, the circuit breaker opens: pages no longer wait for the service
    breaker_failures: int = 5
    #: the circuit breaker stays open for up to this long; then one request tries again
    breaker_seconds: float = 2.0
    #: while the service is away, a page shows its last display again if it is at most this old
    last_good_seconds: float = 3600.0
    #: requests for recommendations at the same time; the sync client has one thread for each of them
    connections: int = 32
    #: the queue holds this many events; when it is full, the oldest event is dropped
    queue_size: int = 10_000
    #: a request sends at most this many events; the service allows up to 500
    batch_size: int = 500
    #: an event waits up to this long for others, so that they are sent together
    flush_seconds: float = 0.5
    #: how long the background sender waits for the answer to a batch
    event_timeout: float = 5.0
    #: the longest pause before a batch is sent again. Pauses start at a tenth of a second, double, and are jittered
    longest_backoff: float = 5.0
    #: how long `close` and the end of the program wait for events that are still in the queue
    exit_timeout: float = 2.0
    #: raise `SlotwiseError` instead of showing the last good display or the default order
    raise_errors: bool = False
    #: discard a display that the service may have issued although its answer did not arrive in time
    discard_unanswered: bool = True
    #: called with the outcome of every event, on the thread or event loop of the sender
    on_outcome: Callable[[EventOutcome], None] | None = None
    #: makes a span for each call; the default is the global provider of OpenTelemetry, if that is installed
    tracer_provider: "TracerProvider | None" = None
    #: returns headers for a recommendation, such as `traceparent`; the default continues the trace of OpenTelemetry
    trace_headers: Callable[[], Mapping[str, str]] | None = None
    #: how to check the certificate of the service; the default trusts the usual authorities
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        for name in ("timeout", "breaker_seconds", "flush_seconds", "event_timeout", "longest_backoff"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} = {getattr(self, name)!r} is not a positive number of seconds")
        for name in ("last_good_seconds", "exit_timeout"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} = {getattr(self, name)!r} is not a number of seconds")
        for name, least in (("retries", 0), ("breaker_failures", 1), ("connections", 1), ("queue_size", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} = {getattr(self, name)!r} is less than {least}")
        if not 1 <= self.batch_size <= 500:
            raise ValueError(f"batch_size = {self.batch_size!r} is not in 1..500, which the service allows")
