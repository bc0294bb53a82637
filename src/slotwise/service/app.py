"""The ASGI application: every route behind one door, where requests are guarded and measured and errors get words."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException, InternalServerException
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from slotwise.service.api import events, insights, items, log, operations, pages, recommendations, state
from slotwise.service.api.route import Answer, Call, Route
from slotwise.service.clock import Clock, machine_clock
from slotwise.service.dev_guard import check_request
from slotwise.service.docs_page import CONTENT_SECURITY_POLICY, docs_page
from slotwise.service.openapi import description
from slotwise.service.problems import MEDIA_TYPE, Problem
from slotwise.service.service import Service
from slotwise.service.store.base import StaleVersion, StoreDown

_log = logging.getLogger("slotwise.service")
_encode = msgspec.json.Encoder().encode
BODY_SECONDS = 10.0  # for a body to arrive
_SAFE = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


@asynccontextmanager
async def running(path: Path, clock: Clock = machine_clock, seed: int | None = None) -> AsyncIterator[Service]:
    """A service over this store, until the block ends; what waits is then committed."""
    service = Service(path, clock, seed)
    try:
        await service.open()
        chores = [asyncio.create_task(service.compile()), asyncio.create_task(service.keep_house())]
        try:
            yield service
        finally:
            for chore in chores:
                chore.cancel()
                with suppress(asyncio.CancelledError):
                    await chore
    finally:
        await service.close()


def make_app(service: Service, more: Sequence[Route] = ()) -> Litestar:
    """The application of a running service; with `more` routes, for those who measure."""
    files = (pages, items, recommendations, events, insights, state, log, operations)
    routes = [*(route for file in files for route in file.ROUTES), *more]
    routes += _described(routes)
    methods = _methods(routes)
    patterns = {re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"): allowed for path, allowed in methods.items()}

    options = [_options(*pair) for pair in methods.items()]  # first, or Litestar makes its own

    def on_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        problem = _problem_of(error)
        if problem.status == 405:
            allowed = next((found for path, found in patterns.items() if path.match(request.scope["path"])), [])
            problem.headers["allow"] = ", ".join(allowed)
        headers = {**_SAFE, **problem.headers}
        return Response(problem.body(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)

    return Litestar(
        [_handler(route, service) for route in [*options, *routes]],
        openapi_config=None,
        exception_handlers={Exception: on_error},
        request_max_body_size=None,  # each route has its own limit
        logging_config=None,
    )


def _methods(routes: Sequence[Route]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for route in routes:
        found.setdefault(route.path, ["OPTIONS"]).append(route.method)
    return {path: sorted(methods) for path, methods in found.items()}


def _options(path: str, methods: list[str]) -> Route:
    """What a path allows."""

    async def handle(call: Call) -> Answer:
        return Answer(204, headers={"allow": ", ".join(methods)})

    return Route("OPTIONS", path, "options", "What a path allows.", handle, {})


def _handler(route: Route, service: Service) -> HTTPRouteHandler:
    seconds = service.metrics.seconds.labels(route.name)
    counted = {}

    async def handle(request: Request[Any, Any, Any]) -> ASGIResponse:
        began = time.perf_counter()
        try:
            scope = request.scope
            headers = dict(scope["headers"])
            check_request(scope["method"], headers)
            content = await _body(route, request, headers)
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"))) if scope["query_string"] else {}
            response = _response(
                await route.handle(Call(service, scope["path_params"], query, request.headers, content))
            )
        except Exception as error:
            response = _problem_response(_problem_of(error))
        status = response.status_code
        if status not in counted:
            counted[status] = service.metrics.requests.labels(route.name, str(status))
        counted[status].inc()
        seconds.observe(time.perf_counter() - began)
        return response

    path = re.sub(r"{(\w+)}", r"{\1:str}", route.path)
    handle.__name__ = route.name
    return HTTPRouteHandler(path, http_method=route.method, include_in_schema=False, status_code=200)(handle)  # type: ignore[arg-type]


async def _body(route: Route, request: Request[Any, Any, Any], headers: dict[bytes, bytes]) -> bytes:
    """The body, of a media type and a size that the route takes."""
    if route.body is None:
        return b""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > route.most_bytes:
        raise _too_large(route)
    content = await _received(route, request)
    if content:
        media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if media_type not in route.media_types:
            raise Problem(415, f"the Content-Type {media_type!r} is not {' or '.join(route.media_types)}")
    return content


async def _received(route: Route, request: Request[Any, Any, Any]) -> bytes:
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > route.most_bytes:
                    raise _too_large(route)
    except TimeoutError:
        line = f"the body did not arrive within {BODY_SECONDS:g} seconds"
        raise Problem(408, line, headers={"connection": "close"}) from None
    except InternalServerException:  # litestar's word for a client that left
        raise Problem(400, "the body ended before its end") from None
    return bytes(content)


def _too_large(route: Route) -> Problem:
    return Problem(413, f"the body is larger than {route.most_bytes:,} bytes", headers={"connection": "close"})


def _response(answer: Answer) -> ASGIResponse:
    headers = {**_SAFE, **answer.headers}
    if isinstance(answer.content, AsyncIterator):
        return ASGIStreamingResponse(
            iterator=answer.content, status_code=answer.status, media_type=answer.media_type, headers=headers
        )
    content = answer.content if isinstance(answer.content, bytes) else _encode(answer.content)
    return ASGIResponse(body=content, status_code=answer.status, media_type=answer.media_type, headers=headers)


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreDown):
        return Problem(503, "the store cannot be written now; nothing was recorded: try again")
    if isinstance(error, StaleVersion):
        return Problem(412, "changed since it was read: the If-Match header does not fit")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, error.detail)
    _log.error("a request failed", exc_info=error)
    return Problem(500, "something went wrong here; the log of the service has it")


def _problem_response(problem: Problem) -> ASGIResponse:
    headers = {**_SAFE, **problem.headers}
    return ASGIResponse(body=problem.body(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _described(routes: list[Route]) -> list[Route]:
    """The two routes that describe all routes, for machines and for people."""

    async def openapi(call: Call) -> Answer:
        return Answer(200, document)

    async def docs(call: Call) -> Answer:
        return Answer(200, page, {"content-security-policy": CONTENT_SECURITY_POLICY}, "text/html; charset=utf-8")

    json: tuple[str, Any] = ("the description", "application/json")
    html: tuple[str, Any] = ("the page", "text/html")
    both = [
        Route("GET", "/openapi.json", "openapi", "This description.", openapi, {200: json}, tag="operations"),
        Route("GET", "/docs", "docs", "This description, for people.", docs, {200: html}, tag="operations"),
    ]
    described = description([*routes, *both])
    document, page = _encode(described), docs_page(described)
    return both
