"""The items of a page as rows: what is known of each, where it is shown, and why it stands there."""

from collections import defaultdict
from typing import NamedTuple

from markupsafe import Markup

from slotwise.service.insights.insights import Insights
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.web.numbers import decimal, integer, moment, percent

FEW_DISPLAYS = 200  # below, an item is described as new
MOSTLY = 0.6  # an item mostly stands at a position where this share of displays has it
OFTEN = 0.05  # an item is described as shown at positions where this share of displays has it


class Where(NamedTuple):
    """What an item did at a position: displays and clicks so far, and the share of displays that show it now."""

    layout: str
    position: str
    displays: float
    clicks: float
    share: float
    reason: str

    @property
    def click_rate(self) -> float | None:
        return self.clicks / self.displays if self.displays else None


class ItemRow(NamedTuple):
    """One item in one segment. Estimates are None before there are any."""

    item: str
    spec: ItemSpec
    is_active: bool
    mean: float | None
    low: float | None
    high: float | None
    rank: int | None  # among the items that may be shown, by value times attractiveness; 1 is the best
    where: list[Where]  # most displays first

    @property
    def displays(self) -> float:
        return sum(place.displays for place in self.where)

    @property
    def clicks(self) -> float:
        return sum(place.clicks for place in self.where)

    @property
    def worth(self) -> float | None:
        """What one visitor who sees the item is expected to be worth."""
        return None if self.mean is None else self.mean * self.spec.value

    @property
    def now(self) -> list[Where]:
        """Where it is shown now, most often first."""
        return sorted((place for place in self.where if place.share >= OFTEN), key=lambda place: -place.share)

    @property
    def share_now(self) -> float:
        return sum(place.share for place in self.where)


def item_rows(specs: dict[str, ItemSpec], insights: Insights | None, segment: str, now: float) -> list[ItemRow]:
    """All items, those that are worth most first."""
    where: dict[str, dict[tuple[str, str], Where]] = defaultdict(dict)
    estimates, seen = {}, set[str]()  # items without displays have no estimates, unless the page says what to expect
    if insights is not None:
        estimates = {row.item: row for row in insights.theta if row.segment == segment}
        for cell in insights.counts:
            if cell.segment == segment:
                place = Where(cell.layout, cell.position, cell.clicks + cell.skips, cell.clicks, 0.0, "")
                where[cell.item][cell.layout, cell.position] = place
                seen.add(cell.item)
        for shown in insights.shown:
            if shown.segment == segment:
                key = shown.layout, shown.position
                before = where[shown.item].get(key, Where(*key, 0.0, 0.0, 0.0, ""))
                where[shown.item][key] = before._replace(share=shown.share, reason=shown.reason)
    rows = []
    for name, spec in specs.items():
        known = estimates.get(name) if name in seen or spec.prior is not None else None
        mean, low, high = (None, None, None) if known is None else (known.mean, known.low, known.high)
        places = sorted(where[name].values(), key=lambda place: (-place.displays, -place.share))
        rows.append(ItemRow(name, spec, spec.is_active(now), mean, low, high, None, places))
    rows.sort(key=lambda row: (not row.is_active, -(row.worth or 0.0), row.item))
    return [row._replace(rank=k + 1) if row.is_active and row.mean is not None else row for k, row in enumerate(rows)]


def why(row: ItemRow, rows: list[ItemRow], visible: list[str], now: float) -> Markup:
    """One sentence that says why an item stands where it stands. `visible` has the positions, most visible first."""
    if not row.is_active:
        return _why_hidden(row, now)
    pinned = [place for place in row.where if place.reason == "pinned"]
    if pinned:
        return Markup("It is pinned to {}, so it is shown there whatever clicks say.").format(pinned[0].position)
    if any(place.reason == "default" for place in row.where):
        return Markup("It has its place in the default order, which the page shows now whatever clicks say.")
    if row.mean is None or row.rank is None:
        return Markup("No visitor has seen it yet, so nothing is known about it.")
    if not row.now:
        return _why_not_shown(row, rows, len(visible))
    return Markup("{}{}{}").format(_standing(row), _where_now(row, visible), _compared(row, rows[0]))


def _standing(row: ItemRow) -> Markup:
    """`It is the second most attractive item here: about 30 % of visitors who see it click`."""
    of = "most valuable" if row.spec.value != 1.0 else "most attractive"
    return Markup("It is the {} item here: about {}").format(_ordinal(row.rank or 0, of), _said(row))


def _said(row: ItemRow) -> Markup:
    """How many visitors click, and what a click is worth, unless it is worth 1."""
    worth = Markup("") if row.spec.value == 1.0 else Markup(", and a click is worth {}").format(decimal(row.spec.value))
    mean = row.mean or 0.0
    return Markup("{} of visitors who see it click{}").format(percent(mean, 0 if mean >= 0.1 else 1), worth)


def _where_now(row: ItemRow, visible: list[str]) -> Markup:
    """Where the item stands mostly, or where it is tried."""
    place = row.now[0]
    rank = visible.index(place.position) + 1 if place.position in visible else 0
    known_as = f", the {_ordinal(rank, 'most visible')} position" if rank else ""
    if row.displays < FEW_DISPLAYS:
        return Markup(", but that rests on {} displays only, so the page still tries it at several positions.").format(
            integer(row.displays)
        )
    if place.share >= MOSTLY:
        return Markup(", so it mostly stands at {}{}.").format(place.position, known_as)
    return Markup("; it stands at {}{} in {} of displays, and the page still tries it elsewhere.").format(
        place.position, known_as and known_as + ",", percent(place.share, 0)
    )


def _compared(row: ItemRow, best: ItemRow) -> Markup:
    if row.rank == 1 or best is row or best.mean is None:
        return Markup("")
    return Markup(" The best item is <bdi>{}</bdi>: {}.").format(best.item, _said(best))


def _why_hidden(row: ItemRow, now: float) -> Markup:
    if row.spec.state != "active":
        return Markup("It is {}, so no visitor sees it.").format(row.spec.state)
    if row.spec.valid_from is not None and now < row.spec.valid_from:
        return Markup("It is shown from {} on.").format(moment(row.spec.valid_from))
    return Markup("Its time has ended, so no visitor sees it.")


def _why_not_shown(row: ItemRow, rows: list[ItemRow], n_positions: int) -> Markup:
    ahead = rows[min(n_positions, len(rows)) - 1]
    worth = "value times attractiveness" if row.spec.value != 1.0 or ahead.spec.value != 1.0 else "attractiveness"
    if (row.rank is not None and row.rank <= n_positions) or ahead.worth is None or row.worth is None:
        return Markup("It is a close call with the items on the page, so it is shown in few displays.")
    return Markup(
        "There are {} positions, and it ranks {} by {}: {} against {} of the last item on the page, <bdi>{}</bdi>."
    ).format(n_positions, _ordinal(row.rank or 0, ""), worth, _worth(row, worth), _worth(ahead, worth), ahead.item)


def _worth(row: ItemRow, worth: str) -> Markup:
    return percent(row.mean or 0.0) if worth == "attractiveness" else decimal(row.worth or 0.0)


def _ordinal(rank: int, of: str) -> str:
    """`second most visible`, and `most visible` for the first."""
    words = ("", "", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    if rank == 1 and of:
        return of
    word = words[rank] if 1 < rank < len(words) else f"{rank}{_suffix(rank)}"
    return f"{word} {of}".strip() if rank > 1 else "first"


def _suffix(rank: int) -> str:
    if 10 <= rank % 100 <= 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
