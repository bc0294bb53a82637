"""Serve one route: check access, read and validate the request, call the handler, and turn errors into responses."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.types import Receive, Scope

from slotwise.service.api.route import PATH_TYPES, Call, Response, Route
from slotwise.service.background_threads import run_in_background
from slotwise.service.errors import Refused, Unauthorized
from slotwise.service.http.access.access import Access
from slotwise.service.http.bodies.body_file import BodyFileReader
from slotwise.service.http.bodies.form import FORM, form_decoder
from slotwise.service.http.bodies.large_body import LARGE, PieceDecoder
from slotwise.service.http.bodies.large_response import LargeResponses
from slotwise.service.http.bodies.request_body import BodyReader
from slotwise.service.http.encoding import encode
from slotwise.service.http.headers import header_values
from slotwise.service.http.problems import Problem, problem_of
from slotwise.service.http.request_log import RequestLog, logs_every_request, request_id
from slotwise.service.http.validation import body_decoder, check_value
from slotwise.service.service import Service
from slotwise.service.web.problem_page import problem_page, wants_html

_NO_HEADERS: dict[bytes, bytes] = {}  # of a request whose headers are invalid
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"  # the server puts it into a path where bytes are not UTF-8


class Endpoint:
    """Responds to the requests for one route."""

    def __init__(self, route: Route[Any], service: Service, access: Access) -> None:
        self._route, self._access = route, access
        self._name, self._new_name, self._service = route.name, route.names_new, service
        self._handle = LargeResponses(route).handle if route.large else route.handle
        self._pieces = PieceDecoder(route.body, route.long_list) if route.body and route.long_list else None
        self._read_body: Callable[..., Awaitable[Any]] = BodyReader(route.media_types, route.max_bytes).read
        self._decode = None if route.body is None else body_decoder(route.body, route.body_optional)
        if route.body is not None and FORM in route.media_types:
            self._decode = form_decoder(route.body)
        if route.streamed:
            self._read_body, self._decode = BodyFileReader(route.media_types, route.max_bytes).read, lambda file: file
        self._query_types = {known.name: known.type for known in route.parameters if known.where == "query"}
        self._seconds = service.metrics.seconds.labels(route.name)
        self._requests: dict[int, Any] = {}  # status -> counter
        self._log = RequestLog(route.name)

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        """Respond to a request. The content is encoded unless it is streamed, and errors become problems."""
        started, headers, detail, id = time.perf_counter(), _NO_HEADERS, "", ""
        try:
            headers = header_values(scope["headers"])
            if not self._route.key_in_body:
                caller = self._access.authorize(self._route, scope, headers)
            content = b"" if self._decode is None else await self._read_body(receive, headers)
            path = scope["path_params"]
            if _REPLACEMENT in scope["path"]:
                _check_encoding(scope["raw_path"])
            query = self._query(scope["query_string"]) if scope["query_string"] else {}
            if self._new_name:
                check_value(self._new_name, path[self._new_name], PATH_TYPES[self._new_name])
            body = None if self._decode is None else await self._decode_body(self._decode, content)
            if self._route.key_in_body and body is not None:
                caller = self._access.authorize(self._route, scope, headers, body.key.strip().encode())
            response = await self._handle(Call(self._service, path, query, headers, body, *caller))
            if type(response.content) is not bytes and not isinstance(response.content, AsyncGenerator):
                content = encode(response.content)
                response = Response(response.status, content, response.headers, response.media_type)
        except asyncio.CancelledError:  # the server stops, and the request did not finish in time
            detail, id = "the service is stopping: the request may have been carried out, or not", request_id(headers)
            response = Problem(503, detail, headers={"connection": "close"}, request_id=id).response(
                self._route.personalizer
            )
        except Exception as error:
            id = request_id(headers)
            problem = problem_of(error, id)
            detail, response = problem.detail, self._problem_response(problem, scope, headers)
            if isinstance(error, Unauthorized) and error.delay > 0.0:
                with suppress(asyncio.CancelledError):  # the server stops, so it answers at once
                    await asyncio.sleep(error.delay)
            if isinstance(error, Refused):
                self._service.metrics.refused.labels(error.key, str(problem.status)).inc()
        if b"origin" in headers:
            response = self._access.with_cors(response, scope, headers)
        seconds = time.perf_counter() - started
        self._count(response.status)
        self._seconds.observe(seconds)
        if b"x-request-id" in headers:
            id = id or request_id(headers)
            response = response._replace(headers={**response.headers, "x-request-id": id})
        if detail or logs_every_request():
            self._log.write(scope, response, id or request_id(headers), detail, seconds)
        return response

    def _problem_response(self, problem: Problem, scope: Scope, headers: dict[bytes, bytes]) -> Response:
        if self._route.web and wants_html(headers):
            return problem_page(problem.status, problem.detail, problem.headers, scope["path"], problem.request_id)
        return problem.response(self._route.personalizer)

    async def _decode_body(self, decode: Callable[[bytes], Any], content: bytes) -> Any:
        """Decode a body. If it is large, background threads decode it, and find what is wrong with it."""
        if self._pieces is None or len(content) <= LARGE:
            return decode(content)
        body = await run_in_background(self._pieces.decode, content)
        return await run_in_background(decode, content) if body is None else body

    def _query(self, text: bytes) -> dict[str, str]:
        """The query parameters. A parameter without a value is kept, so that validation can reject it."""
        _check_encoding(text)
        query = dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))
        for name, type_ in self._query_types.items():
            if name in query:
                check_value(name, query[name], type_)
        return query

    def _count(self, status: int) -> None:
        counter = self._requests.get(status)
        if counter is None:
            counter = self._requests[status] = self._service.metrics.requests.labels(self._name, str(status))
        counter.inc()


def _check_encoding(quoted: bytes) -> None:
    """Raise a Problem if a path or a query is not UTF-8. Otherwise it would name something else."""
    try:
        unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise Problem(400, "the path or the query is not UTF-8") from None
