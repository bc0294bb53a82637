"""A page in memory: its count matrix, its sampler, and what may be shown where.

Rows are (item, segment), columns (layout, position), so that one sampler serves all of it: thetas are shared by the
layouts, kappas by the segments. Column 0 holds what is known of items beforehand, their priors: a place of its own, of
which nobody says how visible it was beside the positions of the page. It is never part of what the store counts.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, arrange_among
from slotwise.checks import BadInput, Floats, Ints, known
from slotwise.counts import Counts, fade, restore, shift_many
from slotwise.jit import direct
from slotwise.policies._contract import find, make_params, serving_params
from slotwise.service.errors import DoesNotFit, FieldError, TooFewItems
from slotwise.service.fading import weight
from slotwise.service.pages.kernels import build_serve, build_warm
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page import ItemSpec, Prior
from slotwise.service.pages.rng_handle import source_of
from slotwise.service.registers import Counting
from slotwise.service.store.interface import Cell, Move, PageCounts, Place, StoredPage

WARM_SWEEPS, LEAST_SWEEPS = 200, 20  # before the first display: the chain itself is not kept
_CELLS_SWEPT = 10_000_000  # by them: everybody waits meanwhile, about 0.1 s
PRIOR = 0  # the column of the priors
_PLAIN = ItemSpec()
_COUNTING = {"issued": Counting.ISSUED, "viewed": Counting.VIEWED}


class Ask(NamedTuple):
    """What a display must meet."""

    layout: str | None = None
    segment: str | None = None
    eligible: Iterable[str] | None = None
    excluded: Iterable[str] = ()
    pinned: Mapping[str, str] = {}
    no_shortage: bool = False


class Choice(NamedTuple):
    """A display that was chosen. Positions for which no item was left are in `left_out`."""

    layout: str
    segment: int
    variant: str
    places: list[Place]
    left_out: list[str]


class PageModel:
    """One page, on the thread of the event loop."""

    def __init__(
        self, page: StoredPage, items: list[tuple[str, ItemSpec]], counts: PageCounts, rng: np.random.Generator
    ) -> None:
        self.page, self._rng, self._source = page, rng, source_of(rng)
        self.names, self.specs = [sys.intern(name) for name, _ in items], [_shared(spec) for _, spec in items]
        self.items = {name: number for number, name in enumerate(self.names)}
        self.revision = counts.revision
        spec = page.body.spec
        self.counting = Counting.NEVER if spec.mode == "off" else _COUNTING[spec.count]
        self.click_window, self.keep_seconds = spec.click_window, max(spec.click_window, spec.keep_seconds())
        self._module = find(spec.policy)
        self._params = make_params(self._module, serving_params(self._module, spec.params), None)
        self._segments = {name: k for k, name in enumerate(page.body.segments) if name in ("", *spec.segments)}
        self._width = len(page.body.segments)
        self._layouts = {name: Layout.of(page, name) for name in spec.all_layouts()}
        self._first_layout = next(iter(self._layouts))
        self.state: Any = None
        self._checked_at, self._changes_at = 0.0, -math.inf
        self._reset(counts)

    def choose(self, ask: Ask, now: float, count: bool) -> Choice:
        """A display for one request; when it counts, its skips are counted at once."""
        layout, segment = self._layout(ask.layout), self._segment(ask.segment)
        allowed, pins, pinned = self._constraints(layout, ask, now)
        if ask.no_shortage:
            self._check_enough(layout, allowed, pinned)
        spec = self.page.body.spec
        variant = "learnt"
        if spec.mode != "learn":
            variant = "default"
        elif spec.holdout > 0.0 and self._rng.random() < spec.holdout:
            variant = "holdout"
        display = layout.display
        if not self.specs:
            display.fill(EMPTY)
        elif variant == "learnt":
            self._serve(*self._given, segment, self._width, layout.columns, allowed, pins, display, count)
        else:
            at_random = variant == "holdout" and spec.holdout_order == "random"
            worth = self._rng.random(len(self.specs)) if at_random else self._default_worth()
            arrange_among(worth, layout.in_order, allowed, pins, display)
            if count:
                self._skip(segment, layout.columns, display)
        reason = _reason(variant, ask.eligible is not None, spec.holdout_order)
        return self._read(layout, segment, variant, display, pinned, reason)

    def move(self, moves: list[Move]) -> None:
        """Apply what was committed."""
        cells, displays = [], 0.0
        for display, changes, begun in moves:
            old = weight(self.page.epoch - display.epoch)
            displays += old * begun
            for place, clicked, skipped in changes:
                there = display.places[place]
                row = there.item * self._width + display.segment
                cells.append((row, there.column + 1, old * clicked, old * skipped))
        if cells or displays:
            items, positions, clicks, skips = zip(*cells, strict=True) if cells else ((), (), (), ())
            shift_many(
                self.state.counts,
                np.array(items, np.int64),
                np.array(positions, np.int64),
                np.array(clicks, np.float64),
                np.array(skips, np.float64),
                displays,
            )

    def set_items(self, items: Iterable[tuple[int, str, ItemSpec]]) -> None:
        """Add or change items by their numbers, new ones in order; takes effect at once."""
        had, before = len(self.specs), dict[int, Prior | None]()
        for number, name, spec in items:
            if number == len(self.specs):
                self.names.append(sys.intern(name))
                self.items[self.names[number]] = number
                self.specs.append(_shared(spec))
                before[number] = None
            else:
                before.setdefault(number, self.specs[number].prior)
                self.specs[number] = _shared(spec)
        if had == 0:
            self._reset(PageCounts([], 0.0, self.revision))
            return
        if len(self.specs) > had:  # once for all of them: every time all counts are copied
            rows = len(self.specs) * self._width
            self.state = self._module.grow(self._params, self.state, rows, self.page.body.places, self._rng)
            self._make_room()
        for number, prior in before.items():
            self._change_prior(number, prior, self.specs[number].prior)
        self._changes_at = -math.inf

    def _change_prior(self, number: int, before: Prior | None, after: Prior | None) -> None:
        old, new = ((0.0, 0.0) if prior is None else (prior.clicks, prior.views) for prior in (before, after))
        clicks, views = new[0] - old[0], new[1] - old[1]
        if clicks or views:
            rows_of = np.arange(self._width) + number * self._width
            filled = np.full(self._width, clicks), np.full(self._width, views - clicks)
            shift_many(self.state.counts, rows_of, np.full(self._width, PRIOR), *filled, 0.0)

    def begin_epoch(self, epoch: int, began: float) -> None:
        """Let the past weigh less; priors do not fade."""
        passed = epoch - self.page.epoch
        if passed > 0:
            self.page = self.page._replace(epoch=epoch, epoch_began=began)
            if self.specs:
                fade(self.state.counts, weight(passed))
                self._set_priors()

    def counts(self) -> Counts:
        """A copy of all counts, priors in column 0."""
        return Counts.of(self.state.counts)

    def row(self, item: int, segment: int) -> int:
        """The row of the matrix."""
        return item * self._width + segment

    @property
    def segments(self) -> dict[str, int]:
        """The segments that may be asked for, by name; "" is for requests that name none."""
        return self._segments

    def cells(self) -> list[Cell]:
        """What was learnt, as the store has it."""
        clicks, skips = self.state.counts.clicks, self.state.counts.skips
        return [
            Cell(
                int(row) // self._width,
                int(row) % self._width,
                int(column) - 1,
                clicks[row, column],
                skips[row, column],
            )
            for row, column in np.argwhere((clicks > 0.0) | (skips > 0.0))
            if column != PRIOR
        ]

    def allowed(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now; worked out anew only when one of them begins or ends."""
        if not self._checked_at <= now < self._changes_at:
            self._allowed = np.array([spec.shown_at(now) for spec in self.specs], np.bool_)
            limits = [
                limit for spec in self.specs for limit in (spec.valid_from, spec.valid_until) if limit is not None
            ]
            self._checked_at = now
            self._changes_at = min((limit for limit in limits if limit > now), default=math.inf)
        return self._allowed

    def _reset(self, counts: PageCounts) -> None:
        """A fresh chain on these counts."""
        self._checked_at, self._changes_at = 0.0, -math.inf
        if not self.specs:
            return
        rows, columns = len(self.specs) * self._width, self.page.body.places
        self.state = self._module.init(self._params, rows, columns, self._rng)
        clicks, skips = np.zeros((rows, columns)), np.zeros((rows, columns))
        for cell in counts.cells:
            where = cell.item * self._width + cell.segment, cell.column + 1
            clicks[where], skips[where] = cell.clicks, cell.skips
        restore(self.state.counts, clicks, skips, counts.displays)
        self._set_priors()
        self._make_room()
        sweeps = min(WARM_SWEEPS, max(LEAST_SWEEPS, _CELLS_SWEPT // (rows * columns)))
        build_warm(self._module, self._module.score)(*self._given, sweeps)
        self._serve = self._compiled()

    def _compiled(self) -> Callable[..., None]:
        """The kernel that serves, called once so that it is compiled for the types of all calls to come."""
        serve, layout = build_serve(self._module, self._module.score), self._layouts[self._first_layout]
        allowed = np.ones(len(self.specs), np.bool_)
        serve(*self._given, 0, self._width, layout.columns, allowed, layout.no_pins, layout.display, False)
        return direct(serve)

    def _set_priors(self) -> None:
        tally = self.state.counts
        clicks, skips = tally.clicks.copy(), tally.skips.copy()
        priors = [(0.0, 0.0) if spec.prior is None else (spec.prior.clicks, spec.prior.views) for spec in self.specs]
        known_clicks, views = np.repeat(np.array(priors), self._width, axis=0).T
        clicks[:, PRIOR], skips[:, PRIOR] = known_clicks, views - known_clicks
        restore(tally, clicks, skips, tally.displays[0])

    def _make_room(self) -> None:
        theta, kappa = np.empty(len(self.specs) * self._width), np.empty(self.page.body.places)
        self._given = (self._params, self.state, self._source, theta, kappa)

    def _layout(self, name: str | None) -> Layout:
        try:
            return self._layouts[self._first_layout if name is None else name]
        except KeyError:
            raise DoesNotFit.at("/layout", _unknown("layout", name, self._layouts)) from None

    def _segment(self, name: str | None) -> int:
        try:
            return self._segments[name or ""]
        except KeyError:
            raise DoesNotFit.at("/segment", _unknown("segment", name, [one for one in self._segments if one])) from None

    def _constraints(self, layout: Layout, ask: Ask, now: float) -> tuple[NDArray[np.bool_], Ints, dict[str, int]]:
        """Which items may be shown, and which stand where; excluded beats pinned beats eligible."""
        allowed = active = self.allowed(now)
        fixed = self.page.body.pins.get(layout.name)
        if ask.eligible is None and not ask.excluded and not ask.pinned and not fixed:
            return allowed, layout.no_pins, {}
        if ask.eligible is not None:
            allowed = np.zeros_like(active)
            allowed[self._numbers("/eligible", ask.eligible)] = True
            allowed &= active
        barred = self._numbers("/excluded", ask.excluded)
        if barred:
            allowed = allowed.copy()
            allowed[barred] = False
        if not ask.pinned and not fixed:
            return allowed, layout.no_pins, {}
        return (allowed, *self._pins(layout, ask.pinned, fixed or {}, active, set(barred)))

    def _pins(
        self,
        layout: Layout,
        asked: Mapping[str, str],
        fixed: Mapping[str, str],
        active: NDArray[np.bool_],
        barred: set[int],
    ) -> tuple[Ints, dict[str, int]]:
        """The request's pins stand before the page's; a page's pin of an item that may not be shown waits."""
        placed: dict[str, int] = {}
        for position, name in asked.items():
            pointer = f"/pinned/{position}"
            if position not in layout.places:
                raise DoesNotFit.at(pointer, _unknown("position", position, layout.places))
            (number,) = self._numbers(pointer, [name])
            if not active[number]:
                raise DoesNotFit.at(pointer, f"item {name!r} is not shown now and cannot be pinned")
            if number in placed.values():
                raise DoesNotFit.at(pointer, f"item {name!r} is pinned at two positions")
            placed[position] = number
        for position, name in fixed.items():
            number = self.items.get(name, EMPTY)
            if number != EMPTY and active[number] and position not in placed and number not in placed.values():
                placed[position] = number
        placed = {position: number for position, number in placed.items() if number not in barred}
        pins = layout.no_pins.copy()
        for position, number in placed.items():
            pins[layout.places[position]] = number
        return pins, placed

    def _check_enough(self, layout: Layout, allowed: NDArray[np.bool_], pinned: Mapping[str, int]) -> None:
        free = int(allowed.sum()) - sum(bool(allowed[number]) for number in pinned.values()) + len(pinned)
        if free < len(layout.positions):
            line = f"{free} items for {len(layout.positions)} positions are too few"
            raise TooFewItems(line, [FieldError("", line)])

    def _numbers(self, pointer: str, names: Iterable[str]) -> list[int]:
        items = self.items
        try:
            return [items[name] for name in names]
        except KeyError as missing:
            raise DoesNotFit.at(pointer, _unknown("item", missing.args[0], items)) from None

    def _default_worth(self) -> Floats:
        """The default order as scores; items that it does not name come after it, in the order they were added."""
        worth = -np.arange(len(self.specs), dtype=np.float64)
        for rank, name in enumerate(reversed(self.page.body.spec.default_order)):
            if name in self.items:
                worth[self.items[name]] = 1.0 + rank
        return worth

    def _skip(self, segment: int, columns: Ints, display: Ints) -> None:
        there = display != EMPTY
        rows = display[there] * self._width + segment
        n = rows.size
        shift_many(self.state.counts, rows, columns[there], np.zeros(n), np.ones(n), float(n > 0))

    def _read(
        self, layout: Layout, segment: int, variant: str, display: Ints, pinned: Mapping[str, Any], reason: str
    ) -> Choice:
        places, left_out = [], []
        for position, column, item in zip(layout.positions, layout.numbers, display.tolist(), strict=True):
            if item == EMPTY:
                left_out.append(position)
            else:
                places.append(Place(position, column, item, "pinned" if position in pinned else reason))
        return Choice(layout.name, segment, variant, places, left_out)


def _shared(spec: ItemSpec) -> ItemSpec:
    """Of most items of many pages nothing is said: one object for all of them, and one for each name."""
    return _PLAIN if spec == _PLAIN else spec


def _reason(variant: str, restricted: bool, holdout_order: str) -> str:
    if variant == "learnt":
        return "eligible" if restricted else "learnt"
    return holdout_order if variant == "holdout" else "default"


def _unknown(what: str, name: object, names: Iterable[str]) -> str:
    """The line that says so, with at most some of the names there are."""
    options = sorted(names)
    try:
        known(what, name, options[:20])
    except BadInput as error:
        return str(error)
    return f"unknown {what}"
