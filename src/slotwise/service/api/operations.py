"""Operations: liveness, readiness, metrics and version."""

import msgspec
from msgspec import Struct

from slotwise.service.api.node_health import NodeHealth, node_healths
from slotwise.service.api.route import OPERATIONS, Call, Response, Route
from slotwise.service.errors import NotReady
from slotwise.version import __version__


class Health(Struct, omit_defaults=True):
    """The body of a successful health check. `nodes` are those that share the store, `node` is the one that answers."""

    status: str = msgspec.field(default_factory=lambda: "ok")  # which is not omitted
    node: int | None = None
    nodes: list[NodeHealth] = []


class Version(Struct):
    """The version of slotwise."""

    version: str


async def livez(call: Call[None]) -> Response:
    """Report that the process answers."""
    return Response(200, Health())


async def readyz(call: Call[None]) -> Response:
    """Check that the kernels are compiled and that the store can be written."""
    if not call.service.ready:
        raise NotReady(call.service.compiled_functions)
    await call.service.check_store()
    return Response(200, Health(node=call.service.store.node, nodes=await node_healths(call.service)))


async def metrics(call: Call[None]) -> Response:
    """Metrics in Prometheus' text format."""
    call.service.metrics.waiting.set(call.service.store.waiting)
    call.service.metrics.node.set(call.service.store.node or 0)
    return Response(200, call.service.metrics.text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def version(call: Call[None]) -> Response:
    """The version of the running service."""
    return Response(200, Version(__version__))


ROUTES = [
    Route(
        "GET", "/livez", "livez", "Liveness: the process responds.", livez, {200: ("alive", Health)}, tag=OPERATIONS,
        needs="open",
    ),
    Route(
        "GET", "/readyz", "readyz", "Readiness: the kernels are compiled and the store can be written.", readyz,
        {200: ("ready", Health)}, tag=OPERATIONS, needs="open",
    ),
    Route(
        "GET", "/metrics", "metrics", "Metrics for Prometheus.", metrics, {200: ("the metrics", "text/plain")},
        tag=OPERATIONS, needs="read", large=True,
    ),
    Route(
        "GET", "/v1/version", "version", "The version of the service.", version, {200: ("the version", Version)},
        tag=OPERATIONS, needs="read", checks_pages=True,
    ),
]  # fmt: skip
