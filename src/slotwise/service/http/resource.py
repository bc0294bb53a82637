"""All routes with the same path, as one route of Starlette's router."""

import re
from collections.abc import Sequence
from typing import Any

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from slotwise.service.api.route import OPERATIONS, Call, Response, Route
from slotwise.service.http.access.access import Access
from slotwise.service.http.endpoint import Endpoint
from slotwise.service.http.problems import Problem
from slotwise.service.http.send_response import send_response
from slotwise.service.service import Service

_FULL = Match.FULL  # looked up once, because access to members of an Enum is slow
_NO_MATCH: tuple[Match, Scope] = (Match.NONE, {})


class Resource(BaseRoute):
    """One path with an endpoint for each method. It also responds to OPTIONS. Other methods get 405."""

    def __init__(self, path: str, routes: Sequence[Route[Any]], service: Service, access: Access) -> None:
        self._path = path
        pattern = "".join(
            f"(?P<{piece[1:-1]}>[^/]+)" if piece.startswith("{") else re.escape(piece)
            for piece in re.split(r"({\w+})", path)
        )
        self._match = re.compile(f"{pattern}/?").fullmatch  # a slash at the end makes no difference
        options: Route[Any] = Route(
            "OPTIONS", path, "options", "The allowed methods.", self._respond_to_options, {}, needs="open"
        )
        self._endpoints = {route.method: Endpoint(route, service, access) for route in [*routes, options]}
        others: Route[Any] = Route("", path, "not_allowed", "Other methods.", self._refuse_method, {}, needs="open")
        self._others = Endpoint(others, service, access)
        if any(route.method == "GET" and route.tag == OPERATIONS for route in routes):
            self._endpoints["HEAD"] = self._endpoints["GET"]  # health checks use HEAD
        self._allow = {"allow": ", ".join(sorted(self._endpoints))}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match = self._match(scope["path"])
        if match is None:
            return _NO_MATCH
        return _FULL, {"path_params": match.groupdict(), "route_path": self._path}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"], self._others)
        await send_response(await endpoint.respond(scope, receive), scope, receive, send)

    async def _respond_to_options(self, _: Call[None]) -> Response:
        return Response(204, headers=self._allow)

    async def _refuse_method(self, _: Call[None]) -> Response:
        raise Problem(405, f"this method is not allowed here; allowed: {self._allow['allow']}", headers=self._allow)


def not_found(service: Service, access: Access) -> ASGIApp:
    """An application that responds to requests for paths that do not exist."""
    route: Route[None] = Route("", "", "not_found", "Other paths.", _refuse_path, {}, needs="open", web=True)
    endpoint = Endpoint(route, service, access)

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        scope["path_params"] = {}
        await send_response(await endpoint.respond(scope, receive), scope, receive, send)

    return respond


async def _refuse_path(_: Call[None]) -> Response:
    raise Problem(404, "there is no such path; /docs lists all paths")
