"""The ASGI application: one router for all routes."""

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.routing import Router
from starlette.types import ASGIApp

from slotwise.service.api import (
    events,
    history,
    insights,
    items,
    keys,
    log,
    operations,
    overview,
    pages,
    personalizer,
    recommendations,
    state,
    state_lines,
)
from slotwise.service.api.route import OPERATIONS, Call, Response, Route
from slotwise.service.http.access.access import Access
from slotwise.service.http.docs_page import docs_page
from slotwise.service.http.openapi import openapi_document
from slotwise.service.http.resource import Resource, not_found
from slotwise.service.service import Service
from slotwise.service.web import static_files, tracker_script
from slotwise.service.web.dashboard import overview as overview_page
from slotwise.service.web.dashboard import pages as dashboard_pages
from slotwise.service.web.dashboard import sessions

_WEB = (static_files, tracker_script, sessions, overview_page, dashboard_pages)
_SERVING = (recommendations, events, personalizer)
_FILES = (pages, items, *_SERVING, overview, insights, history, state, state_lines, log, keys, operations, *_WEB)


def make_app(service: Service, access: Access, extra_routes: Sequence[Route[Any]] = ()) -> ASGIApp:
    """The application of a running service. Benchmarks add their own routes."""
    routes = all_routes(extra_routes, access.has_keys)
    routes.sort(key=lambda route: not route.hot)  # the router tries the paths in order
    by_path: dict[str, list[Route[Any]]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    resources = [Resource(path, listed, service, access) for path, listed in by_path.items()]
    router = Router(resources, redirect_slashes=False, default=not_found(service, access))
    return router.app  # `router` itself would add a layer for middleware, which does not exist


def all_routes(extra_routes: Sequence[Route[Any]] = (), has_keys: bool = False) -> list[Route[Any]]:
    """Every route of the service, and these. The OpenAPI document describes access by keys if there are keys."""
    routes = [*(route for file in _FILES for route in file.ROUTES), *extra_routes]
    return [*routes, *_description_routes(routes, has_keys), _ROOT]


def make_metrics_app(service: Service, access: Access) -> ASGIApp:
    """The application of the port for metrics: /metrics and the health checks."""
    paths = ("/livez", "/readyz", "/metrics")
    resources = [Resource(route.path, [route], service, access) for route in operations.ROUTES if route.path in paths]
    return Router(resources, redirect_slashes=False, default=not_found(service, access)).app


async def _redirect_to_docs(call: Call[None]) -> Response:
    return Response(307, headers={"location": "/docs"})


_ROOT: Route[None] = Route("GET", "/", "root", "Redirects to /docs.", _redirect_to_docs, {}, needs="open")


def _description_routes(routes: list[Route[Any]], has_keys: bool) -> list[Route[Any]]:
    """The two routes that describe all routes: one for programs, one for people."""

    async def get_openapi(call: Call[None]) -> Response:
        return Response(200, document)

    async def get_docs(call: Call[None]) -> Response:
        return page

    json: tuple[str, Any] = ("the OpenAPI document", "application/json")
    html: tuple[str, Any] = ("an HTML page", "text/html")
    added: list[Route[Any]] = [
        Route(
            "GET",
            "/openapi.json",
            "openapi",
            "This interface as an OpenAPI document.",
            get_openapi,
            {200: json},
            tag=OPERATIONS,
            needs="open",
        ),
        Route(
            "GET", "/docs", "docs", "This interface as a web page.", get_docs, {200: html}, tag=OPERATIONS, needs="open"
        ),
    ]
    described = openapi_document([*routes, *added], has_keys)
    document, page = msgspec.json.encode(described), docs_page(described)
    return added
