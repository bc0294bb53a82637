"""Recommendations: retries within the timeout, the circuit breaker, and what to show while the service is away."""

import json
import time
from collections.abc import Callable
from urllib.parse import quote

from slotwise_client.backoff import backoff_seconds
from slotwise_client.breaker import CircuitBreaker
from slotwise_client.display import Display, DisplayRequest, read_display
from slotwise_client.errors import RequestRefused, ServiceUnavailable, SlotwiseError
from slotwise_client.event import Event
from slotwise_client.fallback import LastGoodDisplays, fallback_display
from slotwise_client.flow import Answer, Exchange, Flow, Post, Wait, post
from slotwise_client.options import Options
from slotwise_client.problem import describe_failure, read_problem
from slotwise_client.tracing import Call, Tracing

FIRST_BACKOFF, LONGEST_BACKOFF = 0.02, 0.2
LONGEST_PAUSE = 300.0  # seconds that a Retry-After can keep pages from asking


class Recommendations:
    """Asks for displays. `discard` is called for a display that the service may have issued and no page shows."""

    def __init__(
        self,
        options: Options,
        headers: dict[str, str],
        discard: Callable[[list[Event]], None],
        tracing: Tracing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._headers, self._discard = options, headers, discard
        self._tracing, self._clock = tracing, clock
        self._breaker = CircuitBreaker(options.breaker_failures, options.breaker_seconds, clock)
        self._last_good = LastGoodDisplays(options.last_good_seconds, clock)

    def flow(self, request: DisplayRequest) -> Flow[Display]:
        """A display of the service, or what replaces it."""
        with self._tracing.call("slotwise recommend", {"slotwise.page": request.page}) as call:
            try:
                display = yield from self._ask(request, call)
            except SlotwiseError as error:
                call.failure = str(error)
                if self._options.raise_errors:
                    raise
                display = fallback_display(request, self._last_good.find(request), str(error))
            else:
                if not request.fields.get("preview"):
                    self._last_good.keep(request, display)
            call.attributes["slotwise.source"] = display.source
            return display

    def _ask(self, request: DisplayRequest, call: Call) -> Flow[Display]:
        content, path = _encode(request), f"/v1/pages/{quote(request.page, safe='')}/recommendations"
        headers, is_preview = self._headers | call.headers, bool(request.fields.get("preview"))
        path += "?preview=true" if is_preview else ""
        deadline = self._clock() + (request.fields.get("timeout") or self._options.timeout)
        failure, maybe_issued = "the circuit breaker is open: the service failed several times in a row", False
        for attempt in range(1 + self._options.retries):
            remaining = deadline - self._clock()
            if remaining <= 0 or not self._breaker.allows():
                break
            result = yield from post(Post(path, content, headers, remaining))
            call.attempted(result)
            display = self._read(result)
            if display is not None:
                return display
            failure = describe_failure(result)
            maybe_issued = maybe_issued or _may_have_issued(result)
            pause = backoff_seconds(attempt + 1, FIRST_BACKOFF, LONGEST_BACKOFF)
            if attempt < self._options.retries and self._clock() + pause < deadline and not self._breaker.is_open:
                yield Wait(pause)
            else:
                break
        if maybe_issued and self._options.discard_unanswered and "id" not in request.fields and not is_preview:
            self._discard([Event("discard", display=request.id)])
        raise ServiceUnavailable(failure)

    def _read(self, result: Exchange) -> Display | None:
        """The display in an answer, or None if the request may be repeated. Raises RequestRefused otherwise."""
        if isinstance(result, Answer):
            if result.status == 429:
                self._breaker.pause(min(result.retry_after or 1.0, LONGEST_PAUSE))
                return None
            if result.status in (200, 201):
                try:
                    display = read_display(json.loads(result.content))
                except ValueError:
                    pass  # another program answers in place of the service
                else:
                    self._breaker.succeeded()
                    return display
            elif result.status < 500 and result.status != 408:
                self._breaker.succeeded()
                raise RequestRefused(result.status, str(read_problem(result.content)))
        self._breaker.failed()
        return None


def _encode(request: DisplayRequest) -> bytes:
    try:
        return json.dumps(request.body()).encode()
    except (TypeError, ValueError) as error:
        raise RequestRefused(422, f"the request cannot be written as JSON: {error}") from None


def _may_have_issued(result: Exchange) -> bool:
    """Whether a display may exist although there is none in the answer."""
    return result.status != 429 if isinstance(result, Answer) else result.sent
