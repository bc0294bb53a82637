"""The background sender: takes batches from the queue and sends them until each event has an outcome."""

import json
import logging
import re
import time
from collections.abc import Callable
from typing import Any

from slotwise_client.backoff import backoff_seconds
from slotwise_client.event import EventOutcome
from slotwise_client.event_queue import EventQueue, QueuedEvent
from slotwise_client.flow import Answer, Exchange, Flow, Post, Wait, post
from slotwise_client.options import Options
from slotwise_client.problem import describe_failure, read_problem
from slotwise_client.tracing import Tracing

FIRST_BACKOFF = 0.1
MOST_UNKNOWN = 3  # a display is committed up to 0.1 s after it was issued; until then, its events are unknown
UNKNOWN_SECONDS = 0.25
LONGEST_CLOSING_BACKOFF = 0.2
IDLE_SECONDS = 60.0  # the client wakes the sender when there is something to send
_INVALID = (400, 413, 422)  # the batch holds something that the service cannot read
_RETRIED = (408, 425, 429)  # and all 5xx
_log = logging.getLogger("slotwise_client")
_POINTER = re.compile(r"/events/(\d+)(/.*)?$")


class EventSender:
    """Sends batches. A batch that fails is sent again, with the same ids, so that nothing counts twice."""

    def __init__(
        self,
        options: Options,
        headers: dict[str, str],
        queue: EventQueue,
        tracing: Tracing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._headers, self._queue = options, headers, queue
        self._tracing, self._clock = tracing, clock
        self._closing = False  # send what there is and end
        self._hurry = False  # send what there is now
        self._failures, self._retry_at = 0, 0.0
        self._most = options.batch_size  # smaller while the service refuses a batch without saying which event is wrong

    def flow(self) -> Flow[None]:
        """Send batches until the client closes and the queue is empty. The client wakes it when the queue changes."""
        while True:
            seconds = self._seconds_until_due()
            if seconds is None:
                self._hurry = False
                if self._closing:
                    return
                yield Wait(IDLE_SECONDS)
            elif seconds > 0:
                yield Wait(seconds)
            else:
                yield from self._send_batch()

    def hasten(self, closing: bool = False) -> None:
        """Send what there is now, even if a batch has just failed. With `closing`, end then."""
        self._closing = self._closing or closing
        self._hurry, self._retry_at = True, 0.0

    def _seconds_until_due(self) -> float | None:
        due = self._queue.due_in(self._most, self._options.flush_seconds)
        if due is None:
            return None
        wait_for_others = 0.0 if self._hurry or self._closing else due
        return max(wait_for_others, self._retry_at - self._clock())

    def _send_batch(self) -> Flow[None]:
        batch = self._queue.take(self._most)
        if not batch:  # those that are left are postponed
            yield Wait(UNKNOWN_SECONDS)
            return
        body = b'{"events": [' + b", ".join(entry.content for entry in batch) + b"]}"
        try:
            result = yield from self._post(body, len(batch))
            batch = self._settle(batch, result)
        except Exception:  # the sender must go on, whatever an answer contains
            _log.exception("the answer to a batch of events could not be read")
            self._retry_later(batch, None)
        finally:
            self._queue.give_back(batch)  # what has no outcome yet

    def _post(self, body: bytes, events: int) -> Flow[Exchange]:
        """Send a batch, in a trace of its own: its events come from many requests."""
        with self._tracing.call("slotwise send events", {"slotwise.events": events}, is_root=True) as call:
            headers = self._headers | call.headers
            result = yield from post(Post("/v1/events", body, headers, self._options.event_timeout))
            call.attempted(result)
            if not isinstance(result, Answer) or result.status != 200:
                call.failure = describe_failure(result)
            return result

    def _settle(self, batch: list[QueuedEvent], result: Exchange) -> list[QueuedEvent]:
        """Report the outcomes that an answer has, and return the events that are to be sent again."""
        if not isinstance(result, Answer) or result.status in _RETRIED or result.status >= 500:
            return self._retry_later(batch, result.retry_after if isinstance(result, Answer) else None)
        if result.status == 200:
            statuses = _read_results(result.content, len(batch))
            if statuses is None:
                return self._retry_later(batch, None)
            self._failures, self._retry_at = 0, 0.0
            self._most = min(self._options.batch_size, 2 * self._most)
            self._report(batch, statuses)
            return []
        if result.status in _INVALID:
            return self._isolate(batch, result)
        detail = f"the service refuses events: {result.status}, {read_problem(result.content)}"
        self._queue.settle([EventOutcome(entry.event, "dropped", detail) for entry in batch])
        return []

    def _retry_later(self, batch: list[QueuedEvent], retry_after: float | None) -> list[QueuedEvent]:
        self._failures += 1
        longest = LONGEST_CLOSING_BACKOFF if self._closing else self._options.longest_backoff
        pause = backoff_seconds(self._failures, FIRST_BACKOFF, longest)
        self._retry_at = self._clock() + max(pause, retry_after or 0.0)
        return batch

    def _report(self, batch: list[QueuedEvent], results: list[dict[str, Any]]) -> None:
        postponed, outcomes = [], []
        for entry, result in zip(batch, results, strict=True):
            if result["status"] == "unknown" and entry.tries < MOST_UNKNOWN:
                entry.tries += 1
                postponed.append(entry)
            else:
                outcomes.append(EventOutcome(entry.event, result["status"], result.get("detail", "")))
        self._queue.postpone(postponed, UNKNOWN_SECONDS)
        self._queue.settle(outcomes)

    def _isolate(self, batch: list[QueuedEvent], answer: Answer) -> list[QueuedEvent]:
        """Remove the invalid events from a batch. Without pointers to them, half of the batch is tried next."""
        pointers = _event_pointers(answer.content)
        wrong = {index: detail for index, detail in pointers.items() if index < len(batch)}
        if not wrong and len(batch) == 1:
            wrong = {0: str(read_problem(answer.content))}
        if not wrong:
            self._most = len(batch) // 2
        self._queue.settle([EventOutcome(batch[index].event, "invalid", detail) for index, detail in wrong.items()])
        return [entry for index, entry in enumerate(batch) if index not in wrong]


def _read_results(content: bytes, expected: int) -> list[dict[str, Any]] | None:
    """The result of each event, or None if the answer does not come from slotwise."""
    try:
        results = json.loads(content)["results"]
        valid = len(results) == expected and all(isinstance(result["status"], str) for result in results)
    except (ValueError, KeyError, TypeError):
        return None
    return results if valid else None


def _event_pointers(content: bytes) -> dict[int, str]:
    """The invalid events that an answer names: their index in the batch, and what is wrong in them."""
    found = {}
    for error in read_problem(content).errors:
        if match := _POINTER.match(error.pointer):
            found[int(match[1])] = f"{match[2] or ''}: {error.detail}".removeprefix(": ")
    return found
