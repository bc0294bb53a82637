"""What the sync and the async client share: the queue of events, and the requests."""

import atexit
import os
import time
import weakref
from collections.abc import Iterable
from urllib.parse import urlsplit

from slotwise_client.display import Display, DisplayRequest, RequestFields
from slotwise_client.event import Event, EventOutcome, EventStatus, EventType, new_id
from slotwise_client.event_queue import EventQueue
from slotwise_client.event_sender import EventSender
from slotwise_client.flow import Flow, Wait
from slotwise_client.options import Options
from slotwise_client.outcomes import Outcomes
from slotwise_client.recommendations import Recommendations
from slotwise_client.tracing import Tracing
from slotwise_client.version import __version__

DEFAULT_OPTIONS = Options()
POLL_SECONDS = 0.005
_open_clients: "weakref.WeakSet[BaseClient]" = weakref.WeakSet()


class BaseClient:
    """Queues events. Its methods never wait, and may be called from any thread."""

    def __init__(self, url: str, key: str | None = None, options: Options = DEFAULT_OPTIONS) -> None:
        self._url, self._headers, self._options = _check_url(url), _headers(key), options
        self._tracing = Tracing(options)
        self._closed = False
        self._set_up()
        _open_clients.add(self)

    def _set_up(self) -> None:
        """Create what a process has of its own. A forked process starts again: its parent sends the parent's events."""
        options = self._options
        self._outcomes = Outcomes(options.on_outcome)
        self._queue = EventQueue(options.queue_size, self._outcomes)
        self._sender = EventSender(options, self._headers, self._queue, self._tracing)
        self._recommendations = Recommendations(options, self._headers, self.add_events, self._tracing)

    def click(self, display: Display | str, position: str) -> None:
        """Report a click at a position of a display, which is given as a `Display` or by its token."""
        self._add("click", display, position)

    def view(self, display: Display | str) -> None:
        """Report that a visitor has seen a display, which is given as a `Display` or by its token."""
        self._add("view", display)

    def discard(self, display: Display | str) -> None:
        """Remove a display from the counts, given as a `Display` or by its id: a bot, or a page that was not shown."""
        id = display.id if isinstance(display, Display) else display
        self._add_event(Event("discard", display=id), bool(id))

    def add_events(self, events: Iterable[Event]) -> None:
        """Queue a batch of events."""
        batch = list(events)
        waiting = self._queue.add(batch)
        if waiting <= len(batch) or waiting >= self._options.batch_size:  # the first ones, or a full batch
            self._wake_sender()

    @property
    def outcomes(self) -> dict[EventStatus, int]:
        """How many events had each outcome so far."""
        return self._outcomes.counts

    @property
    def queued(self) -> int:
        """The number of events without an outcome."""
        return len(self._queue)

    def _add(self, type: EventType, display: Display | str, position: str | None = None) -> None:
        token = display.token if isinstance(display, Display) else display
        self._add_event(Event(type, token=token, position=position), bool(token))

    def _add_event(self, event: Event, issued: bool) -> None:
        """Queue an event, unless the service has not issued its display."""
        if issued:
            self.add_events([event])
        else:
            self._outcomes.report([EventOutcome(event, "ignored", "the display did not come from the service")])

    def _recommend(self, page: str, fields: RequestFields) -> Flow[Display]:
        request = DisplayRequest(page, fields.get("id") or new_id(), fields)
        return self._recommendations.flow(request)

    def _drain(self, timeout: float | None, closing: bool = False) -> Flow[bool]:
        """Send all events now; returns whether all have an outcome. With `closing`, the others are dropped."""
        deadline = time.monotonic() + (self._options.exit_timeout if timeout is None else timeout)
        self._sender.hasten(closing)
        if self.queued or not closing:  # a program that ends cannot start a thread for nothing
            self._wake_sender()
        while self.queued and time.monotonic() < deadline:
            yield Wait(POLL_SECONDS)
        if closing:
            self._queue.close("the client was closed before the event could be sent")
            _open_clients.discard(self)
        return not self.queued

    def _wake_sender(self) -> None:
        raise NotImplementedError

    def _end_with_program(self) -> None:
        raise NotImplementedError


@atexit.register
def _end_all() -> None:
    for client in list(_open_clients):
        client._end_with_program()


def _set_up_all() -> None:
    for client in list(_open_clients):
        client._set_up()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_set_up_all)


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a service, such as https://slotwise.example")
    return url.rstrip("/")


def _headers(key: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "User-Agent": f"slotwise-client-python/{__version__}"}
    if key:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("the key contains characters that no key has, such as spaces or line breaks")
        headers["Authorization"] = f"Bearer {key}"
    return headers
