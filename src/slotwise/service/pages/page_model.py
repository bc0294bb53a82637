"""A page in memory: its count matrix, its sampler, and the displays that it chooses.

Rows of the matrix are (item, segment), columns are (layout, position), so one sampler serves the whole page: layouts
share thetas, segments share kappas. Column 0 holds the priors of items. It acts as one more position, of unknown
visibility relative to the positions of the page, and the store does not count it.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_PINS, InvalidPin, allowed_items, arrange_among, valid_pins
from slotwise.checks import BadInput, Floats, Ints, known
from slotwise.counts import Counts, fade, restore, shift_many
from slotwise.jit import direct
from slotwise.policies._contract import find, make_params, serving_params
from slotwise.service.errors import DoesNotFit, FieldError, TooFewItems
from slotwise.service.fading import weight
from slotwise.service.pages.kernels import Sampler, build_serve, build_warm_up, rng_handle
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page import ItemPrior, ItemSpec
from slotwise.service.pages.request import RecommendationRequest
from slotwise.service.registers import Counting, Registers
from slotwise.service.store.interface import (
    CellCounts,
    Display,
    DisplayChange,
    DisplayEntry,
    PageCounts,
    StoredPage,
)

WARM_UP_SWEEPS, LEAST_SWEEPS = 200, 20  # before the first display, because the chain itself is not stored
_CELLS_SWEPT = 10_000_000  # during the warm-up, which blocks the event loop: about 0.1 s
DROP_MARGIN = 7200.0  # seconds: a clock that jumps by an hour must not drop displays that can still be clicked
PRIOR = 0  # the column of the priors
_DEFAULT_SPEC = ItemSpec()
_COUNTING = {"issued": Counting.ISSUED, "viewed": Counting.VIEWED}


class _Constraints(NamedTuple):
    """Which items may be shown, and the pins: an item or EMPTY for each position, and the same as {position: item}."""

    allowed: NDArray[np.bool_]
    pins: Ints
    pinned: Mapping[int, int]


class PageModel:
    """One page. All calls are made on the thread of the event loop."""

    def __init__(
        self, page: StoredPage, items: list[tuple[str, ItemSpec]], counts: PageCounts, rng: np.random.Generator
    ) -> None:
        self.page, self._rng, self._rng_handle = page, rng, rng_handle(rng)
        self.names, self.specs = [sys.intern(name) for name, _ in items], [_shared(spec) for _, spec in items]
        self.items = {name: number for number, name in enumerate(self.names)}
        self.revision = counts.revision
        spec = page.body.spec
        self._counting = Counting.NEVER if spec.mode == "off" else _COUNTING[spec.count]
        self._keep_seconds = max(spec.click_window, spec.keep_seconds())
        self._policy = find(spec.policy)
        self._params = make_params(self._policy, serving_params(self._policy, spec.params), None)
        self.segments = {name: k for k, name in enumerate(page.body.segments) if name in ("", *spec.segments)}
        self._n_segments = len(page.body.segments)
        self._layouts = {name: Layout.of(page, name) for name in spec.all_layouts()}
        self._first_layout = next(iter(self._layouts))
        self.state: Any = None
        self._active_from, self._active_until = 0.0, -math.inf
        self._reset(counts)

    # displays

    def choose(
        self, request: RecommendationRequest, id: str, nonce: int, now: float, degraded: bool = False
    ) -> Display:
        """A display for one request. If it counts from its issue, its skips are counted at once.

        A degraded display never counts.
        """
        layout, segment = self._layout(request.layout), self._segment(request.segment)
        constraints = self._constraints(layout, request, now)
        counting = Counting.NEVER if degraded else self._counting
        variant = self._draw_variant()
        self._fill(layout, segment, variant, constraints, counting is Counting.ISSUED)
        entries = self._entries(layout, constraints.pinned, self._reason(variant, request.eligible is not None))
        return Display(
            id,
            nonce,
            self.page.number,
            layout.name,
            segment,
            now,
            now + self.page.body.spec.click_window,
            now + self._keep_seconds + DROP_MARGIN,
            variant,
            self.page.epoch,
            Registers(len(entries), counting),
            entries,
            degraded=degraded,
        )

    def check_enough_items(self, request: RecommendationRequest, now: float) -> None:
        """Raise TooFewItems if a display for this request would leave positions out."""
        layout = self._layout(request.layout)
        allowed, _, pinned = self._constraints(layout, request, now)
        available = int(allowed.sum()) - sum(bool(allowed[item]) for item in pinned.values()) + len(pinned)
        if available < len(layout.positions):
            line = f"{available} items are too few for {len(layout.positions)} positions"
            raise TooFewItems(line, [FieldError("", line)])

    def left_out(self, display: Display) -> list[str]:
        """The positions of a display's layout, as it is now, that show no item."""
        layout = self._layouts.get(display.layout)
        shown = {entry.position for entry in display.entries}
        return [] if layout is None else [position for position in layout.positions if position not in shown]

    def active_items(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now; recomputed only when the validity of an item begins or ends."""
        if not self._active_from <= now < self._active_until:
            self._active = np.array([spec.is_active(now) for spec in self.specs], np.bool_)
            limits = [
                limit for spec in self.specs for limit in (spec.valid_from, spec.valid_until) if limit is not None
            ]
            self._active_from = now
            self._active_until = min((limit for limit in limits if limit > now), default=math.inf)
        return self._active

    def _draw_variant(self) -> str:
        spec = self.page.body.spec
        if spec.mode != "learn":
            return "default"
        return "holdout" if spec.holdout > 0.0 and self._rng.random() < spec.holdout else "learnt"

    def _reason(self, variant: str, restricted: bool) -> str:
        if variant == "learnt":
            return "eligible" if restricted else "learnt"
        return self.page.body.spec.holdout_order if variant == "holdout" else "default"

    def _fill(self, layout: Layout, segment: int, variant: str, constraints: _Constraints, count: bool) -> None:
        """Fill the display of the layout by the rule of the variant, and count its skips."""
        columns, display = layout.arrays
        if not self.specs:
            display.fill(EMPTY)
        elif variant == "learnt":
            self._serve(self._sampler, layout.arrays, segment, constraints.allowed, constraints.pins, count)
        else:
            at_random = variant == "holdout" and self.page.body.spec.holdout_order == "random"
            scores = self._rng.random(len(self.specs)) if at_random else self._default_scores()
            arrange_among(scores, layout.in_order, constraints.allowed, constraints.pins, display)
            if count:
                self._count_skips(segment, columns, display)

    def _default_scores(self) -> Floats:
        """The default order as scores. Items that it does not name follow in the order they were added."""
        scores = -np.arange(len(self.specs), dtype=np.float64)
        for rank, name in enumerate(reversed(self.page.body.spec.default_order)):
            if name in self.items:
                scores[self.items[name]] = 1.0 + rank
        return scores

    def _count_skips(self, segment: int, columns: Ints, display: Ints) -> None:
        filled = display != EMPTY
        rows = display[filled] * self._n_segments + segment
        n = rows.size
        shift_many(self.state.counts, rows, columns[filled], np.zeros(n), np.ones(n), float(n > 0))

    def _entries(self, layout: Layout, pinned: Mapping[int, int], reason: str) -> list[DisplayEntry]:
        positions, numbers = layout.positions, layout.numbers
        return [
            DisplayEntry(positions[k], numbers[k], item, "pinned" if k in pinned else reason)
            for k, item in enumerate(layout.arrays.display.tolist())
            if item != EMPTY
        ]

    # what a request may ask for

    def _layout(self, name: str | None) -> Layout:
        try:
            return self._layouts[self._first_layout if name is None else name]
        except KeyError:
            raise DoesNotFit.at("/layout", _unknown("layout", name, self._layouts)) from None

    def _segment(self, name: str | None) -> int:
        try:
            return self.segments[name or ""]
        except KeyError:
            names = [segment for segment in self.segments if segment]
            raise DoesNotFit.at("/segment", _unknown("segment", name, names)) from None

    def _constraints(self, layout: Layout, request: RecommendationRequest, now: float) -> _Constraints:
        active = self.active_items(now)
        page_pins = self.page.body.pins.get(layout.name)
        if request.eligible is None and not request.excluded and not request.pinned and not page_pins:
            return _Constraints(active, layout.no_pins, NO_PINS)
        eligible = None if request.eligible is None else self._item_numbers("/eligible", request.eligible)
        excluded = self._item_numbers("/excluded", request.excluded)
        allowed = allowed_items(active, eligible, excluded)
        if not request.pinned and not page_pins:
            return _Constraints(allowed, layout.no_pins, NO_PINS)
        pinned = self._pins(layout, request.pinned, active, excluded)
        pins = layout.no_pins.copy()
        for position, item in pinned.items():
            pins[position] = item
        return _Constraints(allowed, pins, pinned)

    def _pins(
        self, layout: Layout, pinned: Mapping[str, str], active: NDArray[np.bool_], excluded: list[int]
    ) -> dict[int, int]:
        requested = {}
        for position, name in pinned.items():
            pointer = f"/pinned/{position}"
            if position not in layout.index_of:
                raise DoesNotFit.at(pointer, _unknown("position", position, layout.index_of))
            (requested[layout.index_of[position]],) = self._item_numbers(pointer, [name])
        page_pins = self.page.body.pins.get(layout.name, {})
        standing = {layout.index_of[where]: self.items[name] for where, name in page_pins.items() if name in self.items}
        try:
            return valid_pins(requested, active, excluded, standing)
        except InvalidPin as error:
            reason = "is pinned at two positions" if error.twice else "is not shown now and cannot be pinned"
            pointer = f"/pinned/{layout.positions[error.position]}"
            raise DoesNotFit.at(pointer, f"item {self.names[error.item]!r} {reason}") from None

    def _item_numbers(self, pointer: str, names: Iterable[str]) -> list[int]:
        items = self.items
        try:
            return [items[name] for name in names]
        except KeyError as missing:
            raise DoesNotFit.at(pointer, _unknown("item", missing.args[0], items)) from None

    # counts

    def apply_changes(self, changes: list[DisplayChange]) -> None:
        """Apply changes of counts that the store has committed."""
        cells, displays = [], 0.0
        for display, entry_changes, counted in changes:
            faded = weight(self.page.epoch - display.epoch)
            displays += faded * counted
            for index, clicks, skips in entry_changes:
                entry = display.entries[index]
                cells.append((self.row(entry.item, display.segment), entry.column + 1, faded * clicks, faded * skips))
        if cells or displays:
            rows, columns, clicked, skipped = zip(*cells, strict=True) if cells else ((), (), (), ())
            shift_many(
                self.state.counts,
                np.array(rows, np.int64),
                np.array(columns, np.int64),
                np.array(clicked, np.float64),
                np.array(skipped, np.float64),
                displays,
            )

    def begin_epoch(self, epoch: int, began: float) -> None:
        """Let the past lose weight. Priors do not fade."""
        passed = epoch - self.page.epoch
        if passed > 0:
            self.page = self.page._replace(epoch=epoch, epoch_began=began)
            if self.specs:
                fade(self.state.counts, weight(passed))
                self._set_priors()

    def counts(self) -> Counts:
        """A copy of all counts, with the priors in column 0."""
        return Counts.of(self.state.counts)

    def row(self, item: int, segment: int) -> int:
        return item * self._n_segments + segment

    def cells(self) -> list[CellCounts]:
        """The counts above zero as the store has them: without priors, in its numbers of columns."""
        clicks, skips = self.state.counts.clicks, self.state.counts.skips
        return [
            CellCounts(
                int(row) // self._n_segments,
                int(row) % self._n_segments,
                int(column) - 1,
                clicks[row, column],
                skips[row, column],
            )
            for row, column in np.argwhere((clicks > 0.0) | (skips > 0.0))
            if column != PRIOR
        ]

    # items and their priors

    def set_items(self, items: Iterable[tuple[int, str, ItemSpec]]) -> None:
        """Add or change items by their numbers, new ones in order; takes effect at once."""
        size_before, priors_before = len(self.specs), dict[int, ItemPrior | None]()
        for number, name, spec in items:
            if number == len(self.specs):
                self.names.append(sys.intern(name))
                self.items[self.names[number]] = number
                self.specs.append(_shared(spec))
                priors_before[number] = None
            else:
                priors_before.setdefault(number, self.specs[number].prior)
                self.specs[number] = _shared(spec)
        if size_before == 0:
            self._reset(PageCounts([], 0.0, self.revision))
            return
        if len(self.specs) > size_before:  # once for all of them, because growing copies all counts
            rows = len(self.specs) * self._n_segments
            self.state = self._policy.grow(self._params, self.state, rows, self.page.body.n_columns, self._rng)
            self._make_sampler()
        for number, prior in priors_before.items():
            self._change_prior(number, prior, self.specs[number].prior)
        self._active_until = -math.inf

    def _change_prior(self, number: int, before: ItemPrior | None, after: ItemPrior | None) -> None:
        (old_clicks, old_views), (new_clicks, new_views) = _prior_counts(before), _prior_counts(after)
        clicks, views = new_clicks - old_clicks, new_views - old_views
        if clicks or views:
            size = self._n_segments
            rows = np.arange(size) + number * size
            changes = np.full(size, clicks), np.full(size, views - clicks)
            shift_many(self.state.counts, rows, np.full(size, PRIOR), *changes, 0.0)

    def _set_priors(self) -> None:
        counts = self.state.counts
        clicks, skips = counts.clicks.copy(), counts.skips.copy()
        priors = np.array([_prior_counts(spec.prior) for spec in self.specs])
        prior_clicks, views = np.repeat(priors, self._n_segments, axis=0).T
        clicks[:, PRIOR], skips[:, PRIOR] = prior_clicks, views - prior_clicks
        restore(counts, clicks, skips, counts.displays[0])

    # the sampler

    def _reset(self, counts: PageCounts) -> None:
        """Start a new chain on these counts."""
        self._active_from, self._active_until = 0.0, -math.inf
        if not self.specs:
            return
        rows, columns = len(self.specs) * self._n_segments, self.page.body.n_columns
        self.state = self._policy.init(self._params, rows, columns, self._rng)
        clicks, skips = np.zeros((rows, columns)), np.zeros((rows, columns))
        for cell in counts.cells:
            where = self.row(cell.item, cell.segment), cell.column + 1
            clicks[where], skips[where] = cell.clicks, cell.skips
        restore(self.state.counts, clicks, skips, counts.displays)
        self._set_priors()
        self._make_sampler()
        sweeps = min(WARM_UP_SWEEPS, max(LEAST_SWEEPS, _CELLS_SWEPT // (rows * columns)))
        build_warm_up(self._policy, self._policy.score)(self._sampler, sweeps)
        self._serve = self._compiled_serve()

    def _compiled_serve(self) -> Callable[..., None]:
        """The serving kernel. One call here compiles it for the types of all later calls."""
        serve, layout = build_serve(self._policy, self._policy.score), self._layouts[self._first_layout]
        serve(self._sampler, layout.arrays, 0, np.ones(len(self.specs), np.bool_), layout.no_pins, False)
        return direct(serve)

    def _make_sampler(self) -> None:
        theta, kappa = np.empty(len(self.specs) * self._n_segments), np.empty(self.page.body.n_columns)
        self._sampler = Sampler(self._params, self.state, self._rng_handle, theta, kappa, self._n_segments)


def _shared(spec: ItemSpec) -> ItemSpec:
    """One object for all items with default settings, which most items of most pages have: it saves memory."""
    return _DEFAULT_SPEC if spec == _DEFAULT_SPEC else spec


def _prior_counts(prior: ItemPrior | None) -> tuple[float, float]:
    return (0.0, 0.0) if prior is None else (prior.clicks, prior.views)


def _unknown(what: str, name: object, names: Iterable[str]) -> str:
    """An error line for an unknown name, with at most 20 of the known ones."""
    options = sorted(names)
    try:
        known(what, name, options[:20])
    except BadInput as error:
        return str(error)
    return f"unknown {what}"
