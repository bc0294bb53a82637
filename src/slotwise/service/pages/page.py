"""What a page is: its layouts, segments, items, pins and settings, as requests define them and the store keeps them."""

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
MOST_HALF_LIVES = 16.0  # that the log is kept: the weight of older counts is below 2^-16
MOST_SWEEPS = 100  # of a sampler for one display: they block the event loop
DEFAULT_LAYOUT = "default"

Positions = Annotated[list[Name], Meta(min_length=1, max_length=MOST_POSITIONS)]
Layouts = Annotated[dict[Name, Positions], Meta(min_length=1, max_length=MOST_LAYOUTS)]
Seconds = Annotated[float, Meta(ge=1.0, le=365 * DAY)]
Segments = Annotated[list[Name], Meta(max_length=MOST_SEGMENTS)]
Order = Annotated[list[ItemName], Meta(max_length=MOST_ITEMS)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


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
    holdout_order: Literal["default", "random"] = "random"
    half_life: Seconds | None = None

    def all_layouts(self) -> dict[str, list[str]]:
        """Every layout by name. Requests that name none get the first one."""
        if self.layouts is not None:
            return self.layouts
        return {DEFAULT_LAYOUT: self.positions or []}

    def keep_seconds(self) -> float:
        """How long a display stays in the log."""
        if self.retention is not None:
            return self.retention
        longest = 30 * DAY if self.half_life is None else min(30 * DAY, MOST_HALF_LIVES * self.half_life)
        return max(longest, self.click_window)

    def epochs_since(self, began: float, now: float) -> tuple[int, float]:
        """How many epochs have passed since one began, and when the current one began; none without a half-life."""
        if self.half_life is None:
            return 0, began
        step = self.half_life / EPOCHS_PER_HALF_LIFE
        passed = max(int((now - began) // step), 0)  # no epoch passes while the clock is behind
        return passed, began + passed * step


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
    holdout_order: Literal["default", "random"] | UnsetType = UNSET
    half_life: Seconds | UnsetType | None = UNSET

    def applied(self, spec: PageSpec) -> PageSpec:
        """The definition with these changes. `positions` replaces `layouts`, and the other way round."""
        changes = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
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

    state: Literal["active", "paused", "retired"] = "active"
    prior: ItemPrior | None = None
    valid_from: Annotated[float, Meta(ge=0.0, le=1e11)] | None = None
    valid_until: Annotated[float, Meta(ge=0.0, le=1e11)] | None = None

    def is_active(self, now: float) -> bool:
        """Whether the item may be shown at this time."""
        begun = self.valid_from is None or now >= self.valid_from
        return self.state == "active" and begun and (self.valid_until is None or now < self.valid_until)


class PageBody(Struct):
    """What the store keeps of a page besides its items. Columns and segments are never removed: counts use them."""

    spec: PageSpec
    columns: list[tuple[str, str]]  # (layout, position)
    segments: list[str]  # the first one, "", is for requests without a segment
    pins: dict[str, dict[str, str]] = {}  # layout -> position -> item

    def with_spec(self, spec: PageSpec) -> "PageBody":
        """The page with a new definition. Columns and segments keep their numbers; pins of removed positions go."""
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
    def n_columns(self) -> int:
        """Columns of the count matrix: one for every position, and one for the priors of items."""
        return 1 + len(self.columns)

    @property
    def most_items(self) -> int:
        """How many items the page can have within the limits."""
        return min(MOST_ITEMS, MOST_COUNTS // (len(self.segments) * self.n_columns))


NO_PAGE = PageBody(PageSpec(), [], [""])


def check_page(spec: PageSpec) -> list[tuple[str, str]]:
    """Problems of a definition beyond the types of its fields, as (pointer, line)."""
    problems = []
    if (spec.positions is None) == (spec.layouts is None):
        problems.append(("/positions", "either positions or layouts are needed, and not both"))
    for name, positions in spec.all_layouts().items():
        pointer = "/positions" if spec.layouts is None else f"/layouts/{name}"
        problems += [(pointer, line) for line in _repeated("position", positions)]
    problems += [("/segments", line) for line in _repeated("segment", spec.segments)]
    problems += [("/default_order", line) for line in _repeated("item", spec.default_order)]
    problems += _policy_problems(spec)
    if spec.retention is not None and spec.retention < spec.click_window:
        retention, window = _plain_number(spec.retention), _plain_number(spec.click_window)
        problems.append(("/retention", f"{retention} is shorter than the click_window, {window}"))
    if spec.half_life is not None:
        problems += [("/half_life", line) for line in _half_life_problems(spec, spec.half_life)]
    return problems


def _half_life_problems(spec: PageSpec, half_life: float) -> list[str]:
    longest = MOST_HALF_LIVES * half_life
    durations = {"click_window": spec.click_window, "retention": spec.retention or 0.0}
    least = max(durations.values()) / MOST_HALF_LIVES
    too_long = [name for name, seconds in durations.items() if seconds > longest]
    if not too_long:
        return []
    now = ", ".join(f"{name} is {_plain_number(durations[name])}" for name in too_long)
    most = _plain_number(longest)
    return [
        f"with a half_life of {_plain_number(half_life)} seconds the log is kept for {most} at most, but {now}: "
        f"make half_life at least {_plain_number(least)}, or {' and '.join(too_long)} at most {most}"
    ]


def _plain_number(number: float) -> str:
    """Without an exponent: seconds have many digits."""
    return f"{number:.14g}"


def check_limits(body: PageBody, items: int) -> str | None:
    """Which limit a page with this many items exceeds. All counts are held in memory and swept for every display."""
    needed = items * len(body.segments) * body.n_columns
    for number, most, what in (
        (items, MOST_ITEMS, "items"),
        (len(body.columns), MOST_COLUMNS, "positions of all layouts, including removed ones,"),
        (len(body.segments), MOST_SEGMENTS_EVER, "segments, including removed ones,"),
        (needed, MOST_COUNTS, f"counts ({items:,} items x {len(body.segments)} segments x {body.n_columns:,} columns)"),
    ):
        if number > most:
            return f"{number:,} {what} are too many for a page, {most:,} fit: split it into several pages"
    return None


def check_item(spec: ItemSpec) -> list[tuple[str, str]]:
    """Problems of an item beyond the types of its fields, as (pointer, line)."""
    problems = []
    if spec.prior is not None and spec.prior.clicks > spec.prior.views:
        clicks, views = _plain_number(spec.prior.clicks), _plain_number(spec.prior.views)
        problems.append(("/prior/clicks", f"{clicks} clicks are more than {views} views"))
    if spec.valid_from is not None and spec.valid_until is not None and spec.valid_from >= spec.valid_until:
        start, end = _plain_number(spec.valid_from), _plain_number(spec.valid_until)
        problems.append(("/valid_until", f"{end} is not after valid_from, {start}"))
    return problems


def _policy_problems(spec: PageSpec) -> list[tuple[str, str]]:
    if spec.policy not in policies() or not can_serve(find(spec.policy)):
        is_known = spec.policy in policies()
        problem = f"policy {spec.policy} cannot serve a page" if is_known else f"unknown policy {spec.policy!r}"
        usable = ", ".join(name for name in policies() if can_serve(find(name)))
        return [("/policy", f"{problem}; those that can: {usable}")]
    return [("/params", line) for line in _params_problems(spec)]


def _params_problems(spec: PageSpec) -> list[str]:
    module = find(spec.policy)
    try:
        params = make_params(module, serving_params(module, spec.params), None)
    except BadInput as error:
        return [str(error)]
    sweeps = getattr(params, "sweeps", 1)
    if sweeps > MOST_SWEEPS:
        return [f"sweeps = {sweeps} take too long for one display; the limit is {MOST_SWEEPS}"]
    return []


def _repeated(what: str, names: list[str]) -> list[str]:
    return [f"{what} {name!r} is given twice" for name, times in Counter(names).items() if times > 1]
