"""The ASGI application: every route behind its door, the hot ones without the framework in between."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from slotwise.service.api import events, insights, items, log, operations, pages, recommendations, state
from slotwise.service.api.route import OPERATIONS, Answer, Call, Route
from slotwise.service.clock import Clock, machine_clock
from slotwise.service.http.docs_page import CONTENT_SECURITY_POLICY, docs_page
from slotwise.service.http.endpoint import SAFE, Door, Receive, Send, problem_of
from slotwise.service.http.openapi import description
from slotwise.service.http.problems import MEDIA_TYPE
from slotwise.service.service import Service

_encode = msgspec.json.Encoder().encode
App = Callable[[Any, Receive, Send], Awaitable[None]]


@asynccontextmanager
async def running(path: Path, clock: Clock = machine_clock, seed: int | None = None) -> AsyncIterator[Service]:
    """A service over this store, until the block ends; what waits is then committed."""
    service = Service(path, clock, seed)
    try:
        await service.open()
        chores = [asyncio.create_task(service.compile()), asyncio.create_task(service.run_housekeeping())]
        try:
            yield service
        finally:
            for chore in chores:
                chore.cancel()
                with suppress(asyncio.CancelledError):
                    await chore
    finally:
        await service.close()


def make_app(service: Service, more: Sequence[Route] = ()) -> App:
    """The application of a running service; with `more` routes, for those who measure."""
    files = (pages, items, recommendations, events, insights, state, log, operations)
    routes = [*(route for file in files for route in file.ROUTES), *more]
    routes += _described(routes)
    routes += [_ROOT, *(replace(route, method="HEAD") for route in routes if route.tag == OPERATIONS)]
    methods = _methods(routes)
    patterns = {re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"): allowed for path, allowed in methods.items()}

    options = [_options(*pair) for pair in methods.items()]  # first, or Litestar makes its own

    def on_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        problem = problem_of(error)
        if problem.status == 405:
            allowed = next((found for path, found in patterns.items() if path.match(request.scope["path"])), [])
            problem.headers["allow"] = ", ".join(allowed)
        headers = {**SAFE, **problem.headers}
        return Response(problem.body(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)

    doors = [(route, Door(route, service)) for route in [*options, *routes]]
    framework = Litestar(
        [_handler(*pair) for pair in doors],
        openapi_config=None,
        exception_handlers={Exception: on_error},
        request_max_body_size=None,  # each route has its own limit
        logging_config=None,
    )
    hot = [door for route, door in doors if route.hot]

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for door in hot:
                path = door.opens(scope)
                if path is not None:
                    await door.serve(scope, receive, send, path)
                    return
        await framework(scope, receive, send)

    return app


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


def _handler(route: Route, door: Door) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> ASGIResponse:
        answer = await door.answer(request.scope, request.receive, request.scope["path_params"])
        return _head(answer) if route.method == "HEAD" else _response(answer)

    path = re.sub(r"{(\w+)}", r"{\1:str}", route.path)
    handle.__name__ = route.name
    return HTTPRouteHandler(path, http_method=route.method, include_in_schema=False, status_code=200)(handle)  # type: ignore[arg-type]


def _head(answer: Answer) -> ASGIResponse:
    """An answer without its content."""
    told = {"content-type": answer.media_type, "content-length": str(len(answer.content))}
    return ASGIResponse(status_code=answer.status, headers={**SAFE, **answer.headers, **told}, is_head_response=True)


def _response(answer: Answer) -> ASGIResponse:
    headers = {**SAFE, **answer.headers}
    if answer.content:
        headers["content-type"] = answer.media_type  # else the framework adds a charset to it
    if isinstance(answer.content, AsyncIterator):
        return ASGIStreamingResponse(
            iterator=answer.content, status_code=answer.status, media_type=answer.media_type, headers=headers
        )
    return ASGIResponse(body=answer.content, status_code=answer.status, media_type=answer.media_type, headers=headers)


async def _to_docs(call: Call) -> Answer:
    """Whoever opens the address in a browser wants to read."""
    return Answer(307, headers={"location": "/docs"})


_ROOT = Route("GET", "/", "root", "The way to /docs.", _to_docs, {})


def _described(routes: list[Route]) -> list[Route]:
    """The two routes that describe all routes, for machines and for people."""

    async def openapi(call: Call) -> Answer:
        return Answer(200, document)

    async def docs(call: Call) -> Answer:
        return Answer(200, page, {"content-security-policy": CONTENT_SECURITY_POLICY}, "text/html; charset=utf-8")

    json: tuple[str, Any] = ("the description", "application/json")
    html: tuple[str, Any] = ("the page", "text/html")
    both = [
        Route("GET", "/openapi.json", "openapi", "This description.", openapi, {200: json}, tag=OPERATIONS),
        Route("GET", "/docs", "docs", "This description, for people.", docs, {200: html}, tag=OPERATIONS),
    ]
    described = description([*routes, *both])
    document, page = _encode(described), docs_page(described)
    return both
