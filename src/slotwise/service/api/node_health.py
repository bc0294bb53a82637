"""The nodes that share a store, and how far each is behind the others."""

from msgspec import Struct

from slotwise.service.service import Service

LATE_SECONDS = 10.0  # a node reads twice a second


class NodeHealth(Struct):
    """A node that shares the store. `behind` are the seconds since it last read what the other nodes have committed."""

    node: int
    name: str
    behind: float

    @property
    def is_late(self) -> bool:
        """Whether the node has probably stopped, or is cut off from the store."""
        return self.behind > LATE_SECONDS


async def node_healths(service: Service) -> list[NodeHealth]:
    """The nodes that have used the store within an hour. Empty if no other node can share it."""
    if not service.store.is_shared:
        return []
    return [NodeHealth(*node) for node in await service.store.read(lambda ledger: ledger.nodes())]
