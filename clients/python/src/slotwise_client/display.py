"""Displays: what a page shows, from the service or while it is away."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

#: `service`, or what replaces it while it is away: the last good display, or the default order
Source = Literal["service", "last_good", "default"]


class DisplayItem(NamedTuple):
    """An item at a position, and the reason why it is there."""

    position: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class Display:
    """What one page view shows.

    `token` may stand in a web page. It is empty while the service is away: clicks on such a display are not counted,
    because the service has not issued it. `error` then says why.
    """

    page: str
    layout: str
    items: tuple[DisplayItem, ...]
    left_out: tuple[str, ...] = ()
    id: str = ""
    token: str = ""
    variant: str = ""
    degraded: bool = False
    warming: bool = False
    source: Source = "service"
    error: str = ""

    @property
    def by_position(self) -> dict[str, str]:
        """The item at each position."""
        return {row.position: row.item for row in self.items}


class DefaultOrder(NamedTuple):
    """What a page shows when nothing else is known: its positions, and items in order, the first one first."""

    positions: list[str]
    items: list[str]


class RequestFields(TypedDict, total=False):
    """The optional fields of a recommendation. All but `default` and `timeout` are those of the HTTP interface.

    With `preview`, the display counts nothing, and clicks on it are ignored.
    """

    id: str
    layout: str
    segment: str
    unit: str
    context: Any
    eligible: list[str]
    excluded: list[str]
    pinned: dict[str, str]
    most_per_category: int
    default: DefaultOrder
    timeout: float
    preview: bool


class DisplayRequest(NamedTuple):
    """A request for a display of a page. `id` is the one in `fields`, or else a random one."""

    page: str
    id: str
    fields: RequestFields

    def body(self) -> dict[str, Any]:
        """The JSON of the request. Fields that are None are left out."""
        own = ("default", "timeout", "preview")
        sent = {name: value for name, value in self.fields.items() if name not in own and value is not None}
        return sent | {"id": self.id}


def read_display(answer: Any) -> Display:
    """The display in an answer of the service. Raises ValueError if it is something else."""
    try:
        return Display(
            page=str(answer["page"]),
            layout=str(answer["layout"]),
            items=tuple(DisplayItem(row["position"], row["item"], row["reason"]) for row in answer["items"]),
            left_out=tuple(answer["left_out"]),
            id=str(answer["id"]),
            token=str(answer["token"]),
            variant=str(answer["variant"]),
            degraded=bool(answer.get("degraded")),
            warming=bool(answer.get("warming")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the answer is not a display: {error!r}") from None
