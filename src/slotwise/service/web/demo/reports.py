"""What the process of the visitors and the page of the demo shop tell each other."""

from typing import Annotated

from msgspec import Meta, Struct

REPORT_PATH, MOST_RATE = "/demo/reports", 2_000.0
HALF_LIFE = 60.0  # seconds, of the clicks of the shop: after a change of taste, it learns again within a minute or two
Rate = Annotated[float, Meta(ge=0.0, le=MOST_RATE)]


class VisitReport(Struct):
    """A visit: which item was at each position, and which positions were clicked."""

    number: int
    items: dict[str, str]
    clicked: list[str]


class TrafficPoint(Struct):
    """Visits so far, and the clicks of these on what was shown, on displays in random order, and on the best one."""

    visits: int
    clicks: int
    at_random: float
    best: int


class ShopReport(Struct):
    """What the visitors did so far. `changes` are the numbers of the visits at which their taste changed."""

    rate: float | None
    totals: TrafficPoint
    points: list[TrafficPoint]
    changes: list[int]
    last: VisitReport | None


class Controls(Struct):
    """What people set on the page. `rate` is null until then, and `taste` counts the changes of taste."""

    rate: Rate | None = None
    taste: int = 0


class ControlsPatch(Struct, forbid_unknown_fields=True):
    """A change of the controls."""

    rate: Rate | None = None
    change_taste: bool = False
