"""What a page is: its layouts, segments, items, pins and settings, as requests define them and the store keeps them."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from slotwise.item_terms import MOST_VALUE
from slotwise.service.pages.fading import EPOCHS_PER_HALF_LIFE
from slotwise.service.pages.limits import (
    MOST_ITEMS,
    MOST_LAYOUTS,
    MOST_POSITIONS,
    MOST_SEGMENTS,
    ItemName,
    MostPerCategory,
    Name,
)
from slotwise.service.pages.page_features import Declared, GivenFeatures

DAY = 86400.0
MOST_HALF_LIVES = 16.0  # how long the log is kept at most; older counts have a weight below 2^-16
DEFAULT_LAYOUT = "default"

Positions = Annotated[list[Name], Meta(min_length=1, max_length=MOST_POSITIONS)]
Layouts = Annotated[dict[Name, Positions], Meta(min_length=1, max_length=MOST_LAYOUTS)]
Seconds = Annotated[float, Meta(ge=1.0, le=365 * DAY)]
Segments = Annotated[list[Name], Meta(max_length=MOST_SEGMENTS)]
Order = Annotated[list[ItemName], Meta(max_length=MOST_ITEMS)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
ItemState = Literal["active", "paused", "retired"]
UnixTime = Annotated[float, Meta(ge=0.0, le=1e11)]
Value = Annotated[float, Meta(ge=0.0, le=MOST_VALUE, description="what a click on the item is worth")]


class PageSpec(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The definition of a page: `positions` (one layout, called default) or `layouts`; the rest has defaults."""

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
    learnt_share: Share = 1.0
    holdout_order: Literal["default", "random"] = "random"
    half_life: Seconds | None = None
    template: Name | None = None
    most_per_category: MostPerCategory | None = None
    propensities: bool = True
    features: Declared = {}

    def all_layouts(self) -> dict[str, list[str]]:
        """The positions of every layout, as {layout: positions}. A request that names no layout gets the first one."""
        if self.layouts is not None:
            return self.layouts
        return {DEFAULT_LAYOUT: self.positions or []}

    @property
    def shares(self) -> tuple[float, float, str]:
        """What decides how units are allocated to variants. After a change, the variants are compared from then on."""
        return self.holdout, self.learnt_share, self.holdout_order

    def keep_seconds(self) -> float:
        """How long a display stays in the log."""
        if self.retention is not None:
            return self.retention
        longest = 30 * DAY if self.half_life is None else min(30 * DAY, MOST_HALF_LIVES * self.half_life)
        return max(longest, self.click_window)

    def epochs_since(self, began: float, now: float) -> tuple[int, float]:
        """How many epochs have passed since `began`, and when the current epoch began.

        Without a half-life, no epoch passes.
        """
        if self.half_life is None:
            return 0, began
        step = self.half_life / EPOCHS_PER_HALF_LIFE
        passed = max(int((now - began) // step), 0)  # no epoch passes while the clock is behind
        return passed, began + passed * step


def plain_number(number: float) -> str:
    """The number without an exponent, because seconds have many digits."""
    return f"{number:.14g}"


def given_fields(patch: Struct) -> dict[str, Any]:
    """The fields that a patch has, with their values."""
    return {name: value for name, value in msgspec.structs.asdict(patch).items() if value is not UNSET}


class PagePatch(Struct, forbid_unknown_fields=True):
    """Changes of a page; fields that are left out keep their value."""

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
    learnt_share: Share | UnsetType = UNSET
    holdout_order: Literal["default", "random"] | UnsetType = UNSET
    half_life: Seconds | UnsetType | None = UNSET
    template: Name | UnsetType | None = UNSET
    most_per_category: MostPerCategory | UnsetType | None = UNSET
    propensities: bool | UnsetType = UNSET
    features: Declared | UnsetType = UNSET

    def applied(self, spec: PageSpec) -> PageSpec:
        """The definition with these changes. `positions` replaces `layouts`, and the other way round."""
        changes = given_fields(self)
        if "positions" in changes and "layouts" not in changes:
            changes["layouts"] = None
        if "layouts" in changes and "positions" not in changes:
            changes["positions"] = None
        return msgspec.structs.replace(spec, **changes)


class ItemPrior(Struct, forbid_unknown_fields=True):
    """What is known about an item before this page shows it: clicks and views at full visibility."""

    clicks: Annotated[float, Meta(ge=0.0, le=1e9)]
    views: Annotated[float, Meta(ge=0.0, le=1e9)]


class ItemSpec(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The definition of an item. `valid_from` and `valid_until` are seconds since 1970."""

    state: ItemState = "active"
    prior: ItemPrior | None = None
    valid_from: UnixTime | None = None
    valid_until: UnixTime | None = None
    value: Value = 1.0
    category: ItemName | None = None
    features: GivenFeatures = {}

    def is_active(self, now: float) -> bool:
        """Whether the item may be shown at this time."""
        begun = self.valid_from is None or now >= self.valid_from
        return self.state == "active" and begun and (self.valid_until is None or now < self.valid_until)


class ItemPatch(Struct, forbid_unknown_fields=True):
    """Changes of an item; fields that are left out keep their value, and null resets a field to its default."""

    state: ItemState | UnsetType | None = UNSET
    prior: ItemPrior | UnsetType | None = UNSET
    valid_from: UnixTime | UnsetType | None = UNSET
    valid_until: UnixTime | UnsetType | None = UNSET
    value: Value | UnsetType | None = UNSET
    category: ItemName | UnsetType | None = UNSET
    features: GivenFeatures | UnsetType | None = UNSET

    def applied(self, spec: ItemSpec) -> ItemSpec:
        """The definition with these changes."""
        defaults = msgspec.structs.asdict(ItemSpec())
        changes = {name: defaults[name] if value is None else value for name, value in given_fields(self).items()}
        return msgspec.structs.replace(spec, **changes)


class Pin(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The item that is pinned to a position, and the time in which the pin applies, in seconds since 1970."""

    item: ItemName
    starts: UnixTime | None = field(default=None, name="from")
    until: UnixTime | None = None


PagePin = str | Pin  # a pin that always applies is the name of its item
LayoutPins = dict[str, PagePin]  # position -> pin


class PageBody(Struct):
    """What the store keeps of a page besides its items. Columns and segments are never removed, as counts use them."""

    spec: PageSpec
    columns: list[tuple[str, str]]  # (layout, position)
    segments: list[str]  # the first one, "", is for requests without a segment
    pins: dict[str, LayoutPins] = {}  # by layout

    def with_spec(self, spec: PageSpec) -> "PageBody":
        """The page with a new definition. Columns and segments keep their numbers.

        Pins of positions that no longer exist are removed.
        """
        layouts = spec.all_layouts()
        wanted = {(layout, position): None for layout, listed in layouts.items() for position in listed}
        columns = list(dict.fromkeys(self.columns) | wanted)
        segments = self.segments + [name for name in spec.segments if name not in self.segments]
        pins = {
            layout: {position: pin for position, pin in pinned.items() if (layout, position) in wanted}
            for layout, pinned in self.pins.items()
        }
        return PageBody(spec, columns, segments, {layout: pinned for layout, pinned in pins.items() if pinned})

    @property
    def n_columns(self) -> int:
        """Columns of the count matrix: one for every position, and one for the priors of items."""
        return 1 + len(self.columns)


NO_PAGE = PageBody(PageSpec(), [], [""])
