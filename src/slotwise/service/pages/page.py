"""What a page is: its layouts, segments, items, pins and settings, as people define them and as they are kept."""

from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from slotwise.checks import BadInput
from slotwise.policies import policies
from slotwise.policies._contract import can_serve, find, make_params, serving_params
from slotwise.service.fading import EPOCHS_PER_HALF_LIFE
from slotwise.service.pages.limits import (
    MOST_COLUMNS,
    MOST_COUNTS,
    MOST_ITEMS,
    MOST_LAYOUTS,
    MOST_POSITIONS,
    MOST_SEGMENTS,
    MOST_SEGMENTS_EVER,
    ItemName,
    Name,
)

DAY = 86400.0
MOST_HALF_LIVES = 16.0  # that the log is kept: what is older weighs less than 2^-16
MOST_SWEEPS = 100  # of a sampler for one display: everybody waits meanwhile
DEFAULT_LAYOUT = "default"

Positions = Annotated[list[Name], Meta(min_length=1, max_length=MOST_POSITIONS)]
Layouts = Annotated[dict[Name, Positions], Meta(min_length=1, max_length=MOST_LAYOUTS)]
Seconds = Annotated[float, Meta(ge=1.0, le=365 * DAY)]
Segments = Annotated[list[Name], Meta(max_length=MOST_SEGMENTS)]
Order = Annotated[list[ItemName], Meta(max_length=MOST_ITEMS)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class PageSpec(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A page as it is defined: `positions` (one layout, called default) or `layouts`, the rest having defaults."""

    positions: Positions | None = None
    layouts: Layouts | None = None
    segments: Segments = []
    policy: Name = "slot_ts"
    params: dict[str, Any] = {}
    mode: Literal["learn", "shadow", "off"] = "learn"
    count: Literal["issued", "viewed"] = "issued"
    click_window: Annotated[float, Meta(ge=1.0, le=30 * DAY)] = DAY
    retention: Seconds | None = None
    default_order: Order = []
    holdout: Share = 0.0
    holdout_order: Literal["default", "random"] = "random"
    half_life: Seconds | None = None

    def all_layouts(self) -> dict[str, list[str]]:
        """Every layout by name; the first one is taken when a request names none."""
        if self.layouts is not None:
            return self.layouts
        return {DEFAULT_LAYOUT: self.positions or []}

    def keep_seconds(self) -> float:
        """How long the log of a display is kept."""
        if self.retention is not None:
            return self.retention
        longest = 30 * DAY if self.half_life is None else min(30 * DAY, MOST_HALF_LIVES * self.half_life)
        return max(longest, self.click_window)

    def epochs_since(self, began: float, now: float) -> tuple[int, float]:
        """How many epochs have passed since one began, and when the present one did; without a half-life none ever."""
        if self.half_life is None:
            return 0, began
        step = self.half_life / EPOCHS_PER_HALF_LIFE
        passed = max(int((now - began) // step), 0)  # a clock that was set back waits
        return passed, began + passed * step


class PagePatch(Struct, forbid_unknown_fields=True):
    """Changes of a page; what is not named stays as it is."""

    positions: Positions | UnsetType = UNSET
    layouts: Layouts | UnsetType = UNSET
    segments: Segments | UnsetType = UNSET
    policy: Name | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    mode: Literal["learn", "shadow", "off"] | UnsetType = UNSET
    count: Literal["issued", "viewed"] | UnsetType = UNSET
    click_window: Annotated[float, Meta(ge=1.0, le=30 * DAY)] | UnsetType = UNSET
    retention: Seconds | UnsetType | None = UNSET
    default_order: Order | UnsetType = UNSET
    holdout: Share | UnsetType = UNSET
    holdout_order: Literal["default", "random"] | UnsetType = UNSET
    half_life: Seconds | UnsetType | None = UNSET

    def applied(self, spec: PageSpec) -> PageSpec:
        """The page with these changes; naming positions takes the place of layouts and the other way round."""
        changes = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
        if "positions" in changes and "layouts" not in changes:
            changes["layouts"] = None
        if "layouts" in changes and "positions" not in changes:
            changes["positions"] = None
        return msgspec.structs.replace(spec, **changes)


class Prior(Struct, forbid_unknown_fields=True):
    """What is known of an item before it was shown here: so many clicks in so many views at full visibility."""

    clicks: Annotated[float, Meta(ge=0.0, le=1e9)]
    views: Annotated[float, Meta(ge=0.0, le=1e9)]


class ItemSpec(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An item as it is defined. `valid_from` and `valid_until` are seconds since 1970."""

    state: Literal["active", "paused", "retired"] = "active"
    prior: Prior | None = None
    valid_from: Annotated[float, Meta(ge=0.0, le=1e11)] | None = None
    valid_until: Annotated[float, Meta(ge=0.0, le=1e11)] | None = None

    def shown_at(self, now: float) -> bool:
        """Whether the item may be shown at this time."""
        begun = self.valid_from is None or now >= self.valid_from
        return self.state == "active" and begun and (self.valid_until is None or now < self.valid_until)


class PageBody(Struct):
    """What the store keeps of a page beside its items. Columns and segments are only ever added: counts name them."""

    spec: PageSpec
    columns: list[tuple[str, str]]  # (layout, position)
    segments: list[str]  # the first one, "", is for requests that name none
    pins: dict[str, dict[str, str]] = {}  # layout -> position -> item

    def with_spec(self, spec: PageSpec) -> "PageBody":
        """The page defined anew: what it had before keeps its number, pins of positions that are gone go too."""
        layouts = spec.all_layouts()
        wanted = {(layout, position): None for layout, listed in layouts.items() for position in listed}
        columns = list(dict.fromkeys(self.columns) | wanted)
        segments = self.segments + [name for name in spec.segments if name not in self.segments]
        pins = {
            layout: {position: item for position, item in pinned.items() if (layout, position) in wanted}
            for layout, pinned in self.pins.items()
        }
        return PageBody(spec, columns, segments, {layout: pinned for layout, pinned in pins.items() if pinned})

    @property
    def places(self) -> int:
        """Columns of the count matrix: every position, and one for what is known of items beforehand."""
        return 1 + len(self.columns)

    @property
    def most_items(self) -> int:
        """How many items there is room for."""
        return min(MOST_ITEMS, MOST_COUNTS // (len(self.segments) * self.places))


NO_PAGE = PageBody(PageSpec(), [], [""])


def check_page(spec: PageSpec) -> list[tuple[str, str]]:
    """What is wrong with a page beyond the types of its fields: (pointer, line) for each."""
    found = []
    if (spec.positions is None) == (spec.layouts is None):
        found.append(("/positions", "either positions or layouts are needed, and not both"))
    for name, positions in spec.all_layouts().items():
        pointer = "/positions" if spec.layouts is None else f"/layouts/{name}"
        found += [(pointer, line) for line in _twice("position", positions)]
    found += [("/segments", line) for line in _twice("segment", spec.segments)]
    found += [("/default_order", line) for line in _twice("item", spec.default_order)]
    found += _policy_problems(spec)
    if spec.retention is not None and spec.retention < spec.click_window:
        found.append(
            ("/retention", f"{_told(spec.retention)} is shorter than the click_window, {_told(spec.click_window)}")
        )
    if spec.half_life is not None:
        found += [("/half_life", line) for line in _half_life_problems(spec, spec.half_life)]
    return found


def _half_life_problems(spec: PageSpec, half_life: float) -> list[str]:
    longest = MOST_HALF_LIVES * half_life
    asked = {"click_window": spec.click_window, "retention": spec.retention or 0.0}
    least = max(asked.values()) / MOST_HALF_LIVES
    too_long = [name for name, seconds in asked.items() if seconds > longest]
    if not too_long:
        return []
    now = ", ".join(f"{name} is {_told(asked[name])}" for name in too_long)
    return [
        f"with a half_life of {_told(half_life)} seconds the log is kept for {_told(longest)} at most, but {now}: "
        f"make half_life at least {_told(least)}, or {' and '.join(too_long)} at most {_told(longest)}"
    ]


def _told(number: float) -> str:
    """A number without an exponent: seconds have many digits."""
    return f"{number:.14g}"


def check_room(body: PageBody, items: int) -> str | None:
    """What is too many of a page with so many items, which are all held in memory and swept for every display."""
    needed = items * len(body.segments) * body.places
    for number, most, what in (
        (items, MOST_ITEMS, "items"),
        (len(body.columns), MOST_COLUMNS, "positions of all layouts, those given up too,"),
        (len(body.segments), MOST_SEGMENTS_EVER, "segments, those given up too,"),
        (needed, MOST_COUNTS, f"counts ({items:,} items x {len(body.segments)} segments x {body.places:,} places)"),
    ):
        if number > most:
            return f"{number:,} {what} are too many for a page, {most:,} fit: define another page that has fewer"
    return None


def check_item(spec: ItemSpec) -> list[tuple[str, str]]:
    """What is wrong with an item beyond the types of its fields."""
    found = []
    if spec.prior is not None and spec.prior.clicks > spec.prior.views:
        found.append(
            ("/prior/clicks", f"{_told(spec.prior.clicks)} clicks are more than {_told(spec.prior.views)} views")
        )
    if spec.valid_from is not None and spec.valid_until is not None and spec.valid_from >= spec.valid_until:
        found.append(("/valid_until", f"{_told(spec.valid_until)} is not after valid_from, {_told(spec.valid_from)}"))
    return found


def _policy_problems(spec: PageSpec) -> list[tuple[str, str]]:
    if spec.policy not in policies() or not can_serve(find(spec.policy)):
        what = (
            f"policy {spec.policy} cannot serve a page"
            if spec.policy in policies()
            else f"unknown policy {spec.policy!r}"
        )
        return [
            ("/policy", f"{what}; those that can: {', '.join(name for name in policies() if can_serve(find(name)))}")
        ]
    return [("/params", line) for line in _params_problems(spec)]


def _params_problems(spec: PageSpec) -> list[str]:
    module = find(spec.policy)
    try:
        params = make_params(module, serving_params(module, spec.params), None)
    except BadInput as error:
        return [str(error)]
    sweeps = getattr(params, "sweeps", 1)
    return [f"sweeps = {sweeps} take too long; {MOST_SWEEPS} are the most"] if sweeps > MOST_SWEEPS else []


def _twice(what: str, listed: list[str]) -> list[str]:
    return [f"{what} {name!r} is given twice" for name, times in Counter(listed).items() if times > 1]
