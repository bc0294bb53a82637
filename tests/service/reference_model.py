"""A reference implementation of registers and counts in plain dictionaries; a service must always agree with it."""

import copy
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from slotwise.service.registers import EventKind
from slotwise.service.store.records import Event
from slotwise.service.store.tables import display_log

STEPS = 8  # epochs in a half-life
HOUR, DAY = 3600, 86400
CellKey = tuple[str, str, str, str]  # item, segment, layout, position


@dataclass
class PlainPage:
    """The state of a page that its counts depend on."""

    half_life: float | None
    began: float
    epoch: int = 0
    base: dict[CellKey, list[float]] = field(default_factory=dict)  # weighted as of `base_epoch`
    base_displays: float = 0.0
    base_epoch: int = 0
    allocation: int = 1

    def pass_time(self, now: float) -> None:
        if self.half_life is not None and now > self.began:
            steps = int((now - self.began) // (self.half_life / STEPS))
            self.epoch, self.began = self.epoch + steps, self.began + steps * self.half_life / STEPS

    def weight(self, epoch: int) -> float:
        return float(0.5 ** ((self.epoch - epoch) / STEPS))


@dataclass
class PlainDisplay:
    """A display and its registers."""

    id: str
    nonce: int
    page: str
    layout: str
    segment: str
    variant: str
    issued: float
    until: float
    drop_after: float
    epoch: int
    counting: str  # issued, viewed or never
    items: dict[str, str]
    allocation: int
    bucket: int
    counted: bool = True  # False after an import of counts
    viewed: bool = False
    discarded: bool = False
    clicked: set[str] = field(default_factory=set)

    def counts(self) -> bool:
        begun = self.counting == "issued" or (self.counting == "viewed" and (self.viewed or bool(self.clicked)))
        return begun and not self.discarded and bool(self.items)

    def total(self) -> tuple[int, int, int]:
        """(displays, registers that count, clicks among them)."""
        return (1, len(self.items), len(self.clicked)) if self.counts() else (0, 0, 0)


class PlainModel:
    """All pages, all displays that are still in the log, and the snapshot of older ones."""

    def __init__(self) -> None:
        self.pages: dict[str, PlainPage] = {}
        self.log: dict[str, PlainDisplay] = {}
        self.event_ids: dict[str, tuple[int, EventKind, str]] = {}
        self.rates: dict[str, dict[tuple[int, str], list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
        self.days: dict[tuple[str, int], dict[tuple[int, str, int], list[int]]] = defaultdict(
            lambda: defaultdict(lambda: [0, 0, 0])
        )  # (page, allocation) -> (day, variant, bucket) -> displays, registers, clicks

    def issue(self, display: PlainDisplay) -> None:
        assert display.id not in self.log
        self.log[display.id] = display
        self._update_rate(display, (0, 0, 0))

    def lose(self, ids: Iterable[str]) -> None:
        """Remove displays that a crash lost before they were committed."""
        for id in ids:
            display = self.log.pop(id)
            before, display.discarded = display.total(), True
            self._update_rate(display, before)

    def record(self, event: Event, now: float) -> str:
        display = self.log.get(event.display)
        if display is None or event.nonce not in (None, display.nonce):
            return "unknown"
        if event.kind is EventKind.CLICK and event.position not in display.items:
            return "rejected"
        key = (display.nonce, event.kind, event.position or "" if event.kind is EventKind.CLICK else "")
        if event.id is not None and self.event_ids.get(event.id, key) != key:
            return "conflict"
        before = display.total()
        status = self._apply(display, event, now)
        self._update_rate(display, before)
        if event.id is not None and event.id not in self.event_ids:
            n_ids = [known for known, *_ in self.event_ids.values()].count(display.nonce)
            if status != "accepted" and n_ids >= display_log.IDS_PER_EVENT * (len(display.items) + 2):
                return "rejected"
            self.event_ids[event.id] = key
        return status

    def _apply(self, display: PlainDisplay, event: Event, now: float) -> str:
        if display.discarded:
            return "duplicate"
        if event.kind is EventKind.DISCARD:
            display.discarded = True
            return "accepted"
        if display.viewed if event.kind is EventKind.VIEW else event.position in display.clicked:
            return "duplicate"
        if now > display.until:
            return "late"
        if event.kind is EventKind.VIEW:
            display.viewed = True
        else:
            display.clicked.add(str(event.position))
        return "accepted"

    def _update_rate(self, display: PlainDisplay, before: tuple[int, int, int]) -> None:
        rate = self.rates[display.page][int(display.issued // HOUR), display.variant]
        days = self.days[display.page, display.allocation]
        day = days[int(display.issued // DAY), display.variant, display.bucket]
        for k, (new, old) in enumerate(zip(display.total(), before, strict=True)):
            rate[k] += new - old
            day[k] += new - old

    def pass_time(self, now: float) -> None:
        for page in self.pages.values():
            page.pass_time(now)
        for display in [logged for logged in self.log.values() if logged.drop_after < now]:
            page, (cells, displays) = self.pages[display.page], self.counts(display.page)
            del self.log[display.id]
            self.event_ids = {id: key for id, key in self.event_ids.items() if key[0] != display.nonce}
            rest, rest_displays = self.counts(display.page)
            for key, cell in cells.items():
                kept, old = page.base.setdefault(key, [0.0, 0.0]), page.weight(page.base_epoch)
                for k in (0, 1):
                    kept[k] += (cell[k] - rest.get(key, [0.0, 0.0])[k]) / old
            page.base_displays += (displays - rest_displays) / page.weight(page.base_epoch)

    def import_counts(self, name: str, cells: dict[CellKey, list[float]], displays: float) -> None:
        page = self.pages[name]
        page.base, page.base_displays, page.base_epoch = copy.deepcopy(cells), displays, page.epoch
        for display in self.log.values():
            if display.page == name:
                display.counted = False

    def counts(self, name: str) -> tuple[dict[CellKey, list[float]], float]:
        """Clicks and skips by cell, and displays."""
        page = self.pages[name]
        old = page.weight(page.base_epoch)
        cells = {key: [old * n for n in cell] for key, cell in page.base.items()}
        displays = old * page.base_displays
        for display in self.log.values():
            if display.page == name and display.counted and display.counts():
                displays += page.weight(display.epoch)
                for position, item in display.items.items():
                    cell = cells.setdefault((item, display.segment, display.layout, position), [0.0, 0.0])
                    cell[position not in display.clicked] += page.weight(display.epoch)
        return {key: cell for key, cell in cells.items() if any(cell)}, displays
