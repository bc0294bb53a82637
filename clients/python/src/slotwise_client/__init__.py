"""A client of the slotwise service. Pages keep working while the service is away, and no event is lost.

`Client` is for programs with threads, `AsyncClient` for programs with an event loop.
"""

from slotwise_client.async_client import AsyncClient
from slotwise_client.client import Client
from slotwise_client.display import DefaultOrder, Display, DisplayItem
from slotwise_client.errors import RequestRefused, ServiceUnavailable, SlotwiseError
from slotwise_client.event import Event, EventOutcome
from slotwise_client.options import Options
from slotwise_client.version import __version__

__all__ = [
    "AsyncClient",
    "Client",
    "DefaultOrder",
    "Display",
    "DisplayItem",
    "Event",
    "EventOutcome",
    "Options",
    "RequestRefused",
    "ServiceUnavailable",
    "SlotwiseError",
    "__version__",
]
