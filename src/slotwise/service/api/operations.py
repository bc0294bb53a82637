"""Operations: is it alive, is it ready, what does it measure, which version is it."""

from msgspec import Struct

from slotwise.service.api.route import OPERATIONS, Answer, Call, Route
from slotwise.service.errors import NotReady
from slotwise.version import __version__


class Health(Struct):
    """All is well."""

    status: str = "ok"


class Version(Struct):
    """The version of slotwise."""

    version: str


async def livez(call: Call) -> Answer:
    """The process answers."""
    return Answer(200, Health())


async def readyz(call: Call) -> Answer:
    """The kernels are compiled, the store is open and can be written."""
    if not call.service.ready:
        raise NotReady
    await call.service.check_store()
    return Answer(200, Health())


async def metrics(call: Call) -> Answer:
    """For Prometheus."""
    call.service.metrics.waiting.set(call.service.store.waiting)
    return Answer(200, call.service.metrics.text(), {}, "text/plain; version=0.0.4; charset=utf-8")


async def version(call: Call) -> Answer:
    """Which slotwise this is."""
    return Answer(200, Version(__version__))


ROUTES = [
    Route("GET", "/livez", "livez", "The process answers.", livez, {200: ("alive", Health)}, tag=OPERATIONS),
    Route(
        "GET", "/readyz", "readyz", "The kernels are compiled, the store can be written.", readyz,
        {200: ("ready", Health)}, tag=OPERATIONS,
    ),
    Route("GET", "/metrics", "metrics", "For Prometheus.", metrics, {200: ("metrics", "text/plain")}, tag=OPERATIONS),
    Route(
        "GET", "/v1/version", "version", "Which slotwise this is.", version, {200: ("it", Version)}, tag=OPERATIONS
    ),
]  # fmt: skip
