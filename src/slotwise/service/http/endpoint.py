"""The door that every request comes through: it is guarded, read, handed on and measured, and errors get words."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.exceptions import HTTPException, NotFoundException

from slotwise.service.api.route import Answer, Call, Route
from slotwise.service.errors import ServiceError
from slotwise.service.http.access import check_request
from slotwise.service.http.problems import MEDIA_TYPE, Problem, of_service_error
from slotwise.service.http.timeout import Patience
from slotwise.service.service import Service

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

BODY_SECONDS = 10.0  # for a body to arrive
MOST_DRAINED = 64 << 20  # bytes of a body that is too large
SAFE = {"x-content-type-options": "nosniff", "cache-control": "no-store"}

_log = logging.getLogger("slotwise.service")
_encode = msgspec.json.Encoder().encode
_SAFE_PAIRS = [(name.encode(), value.encode()) for name, value in SAFE.items()]


class Door:
    """The way into one route."""

    def __init__(self, route: Route, service: Service) -> None:
        self._route, self._service = route, service
        self._path = re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.path))
        self._seconds = service.metrics.seconds.labels(route.name)
        self._counted: dict[int, Any] = {}
        self._patience = Patience(BODY_SECONDS)

    async def answer(self, scope: Any, receive: Receive, path: dict[str, str]) -> Answer:
        """What the route answers, as bytes unless it is streamed; or the problem with the request."""
        began = time.perf_counter()
        try:
            headers = dict(scope["headers"])
            check_request(scope["method"], headers)
            content = await _body(self._route, receive, headers, self._patience)
            query = _query(scope["query_string"]) if scope["query_string"] else {}
            answer = await self._route.handle(Call(self._service, path, query, headers, content))
            if type(answer.content) is not bytes and not isinstance(answer.content, AsyncIterator):
                answer = Answer(answer.status, _encode(answer.content), answer.headers, answer.media_type)
        except asyncio.CancelledError:  # by the server: it stops, and has waited for this one as long as it does
            line = "the service stops: what was asked for may have happened, or not"
            answer = answer_of(Problem(503, line, headers={"connection": "close"}))
        except Exception as error:
            answer = answer_of(problem_of(error))
        counted = self._counted.get(answer.status)
        if counted is None:
            counted = self._service.metrics.requests.labels(self._route.name, str(answer.status))
            self._counted[answer.status] = counted
        counted.inc()
        self._seconds.observe(time.perf_counter() - began)
        return answer

    def opens(self, scope: Any) -> dict[str, str] | None:
        """What the path says, when the request is for this route."""
        if scope["method"] != self._route.method:
            return None
        found = self._path.fullmatch(scope["path"])
        return None if found is None else found.groupdict()

    async def serve(self, scope: Any, receive: Receive, send: Send, path: dict[str, str]) -> None:
        """Answer a request without the framework, which takes longer than most answers."""
        status, content, headers, media_type = await self.answer(scope, receive, path)
        pairs = [(b"content-type", media_type.encode()), (b"content-length", b"%d" % len(content)), *_SAFE_PAIRS]
        if headers:
            pairs += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content, "more_body": False})


def _query(text: bytes) -> dict[str, str]:
    """The parameters. One without a value is there, and wrong where a value is needed."""
    return dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))


async def _body(route: Route, receive: Receive, headers: dict[bytes, bytes], patience: Patience) -> bytes:
    """The body, of a media type and a size that the route takes."""
    if route.body is None:
        return b""
    length = headers.get(b"content-length", b"0")
    if len(length) > 7 and length.isdigit() and int(length) > MOST_DRAINED:
        raise _too_large(route)
    task = patience.begin()
    try:
        content = await _received(route, receive)
    except asyncio.CancelledError:
        if patience.end(task):
            raise  # it was not impatience
        task.uncancel()
        line = f"the body did not arrive within {patience.seconds:g} seconds"
        raise Problem(408, line, headers={"connection": "close"}) from None
    finally:
        patience.end(task)
    if content:
        given = headers.get(b"content-type", b"")
        if given not in route.raw_media_types:
            media_type = given.decode("latin-1").partition(";")[0].strip().lower()
            if media_type not in route.media_types:
                raise Problem(415, f"the Content-Type {media_type!r} is not {' or '.join(route.media_types)}")
    return content


async def _received(route: Route, receive: Receive) -> bytes:
    """All of it. One that is too large is read to its end, for who is cut off while sending hears no answer."""
    chunks, size, more = [], 0, True
    while more and size <= MOST_DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body ended before its end")
        content, more = message.get("body", b""), message.get("more_body", False)
        size += len(content)
        if size <= route.most_bytes:
            chunks.append(content)
    if size > route.most_bytes:
        raise _too_large(route)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(route: Route) -> Problem:
    return Problem(413, f"the body is larger than {route.most_bytes:,} bytes", headers={"connection": "close"})


def problem_of(error: Exception) -> Problem:
    """Words for an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ServiceError):
        return of_service_error(error)
    if isinstance(error, NotFoundException):  # of the framework: a page or an item that is not there is a Problem
        return Problem(404, "there is no such path; /docs has all of them")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, error.detail)
    problem = Problem(500, "something went wrong here; the log of the service has it")
    _log.error("request %s failed", problem.request_id, exc_info=error)
    return problem


def answer_of(problem: Problem) -> Answer:
    """A problem, as it is sent."""
    return Answer(problem.status, problem.body(), problem.headers, MEDIA_TYPE)
