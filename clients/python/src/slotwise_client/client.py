"""Client: for programs with threads, such as Flask and Django. Events are sent by a thread in the background."""

import threading
from types import TracebackType
from typing import Self, Unpack

import httpx

from slotwise_client.base_client import BaseClient
from slotwise_client.display import Display, RequestFields
from slotwise_client.flow import Exchange, NoAnswer, Post, no_answer, read_answer, run_flow
from slotwise_client.worker_threads import NotStarted, WorkerThreads


class Client(BaseClient):
    """A client of the service at a URL. Create one per program; threads and forked processes may share it.

    >>> client = Client("http://127.0.0.1:8000")
    >>> client.close()
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def recommend(self, page: str, **fields: Unpack[RequestFields]) -> Display:
        """A display for one page view. It takes at most `timeout` seconds.

        While the service is away, it is the last good display or the default order: see `Display.source`.
        """
        return run_flow(self._recommend(page, fields), self._send_in_time)

    def flush(self, timeout: float | None = None) -> bool:
        """Send all events now, for up to `timeout` seconds (`exit_timeout`). Returns whether all have an outcome."""
        return run_flow(self._drain(timeout), self._send)

    def close(self, timeout: float | None = None) -> None:
        """Send all events and end. Events that cannot be sent within `timeout` seconds (`exit_timeout`) are dropped."""
        if self._closed:
            return
        self._closed = True
        run_flow(self._drain(timeout, closing=True), self._send)
        self._workers.close()
        self._http.close()

    def _set_up(self) -> None:
        super()._set_up()
        self._http = httpx.Client(base_url=self._url, verify=self._options.tls or True)
        self._workers = WorkerThreads(self._options.connections)
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def _wake_sender(self) -> None:
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._send_events, name="slotwise-client", daemon=True)
                    self._thread.start()
        self._awake.set()

    def _send_events(self) -> None:
        run_flow(self._sender.flow(), self._send, self._wait)

    def _wait(self, seconds: float) -> None:
        self._awake.wait(seconds)
        self._awake.clear()

    def _send_in_time(self, step: Post) -> Exchange:
        """Send a request on another thread. httpx limits each read, but neither their sum nor name lookups."""
        try:
            return self._workers.run(lambda: self._send(step), step.timeout)
        except TimeoutError:
            return NoAnswer("no answer in time")
        except NotStarted:
            return NoAnswer(f"all {self._options.connections} connections are in use", sent=False)
        except RuntimeError as error:  # no more threads can be started
            return NoAnswer(str(error), sent=False)

    def _send(self, step: Post) -> Exchange:
        try:
            answer = self._http.post(step.path, content=step.content, headers=step.headers, timeout=step.timeout)
            return read_answer(answer)
        except Exception as error:  # whatever it is, the page must go on
            return no_answer(error)

    def _end_with_program(self) -> None:
        self.close()
