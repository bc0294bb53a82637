"""A page in memory. It has items and constraints, and chooses displays."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import (
    EMPTY,
    NO_LIMIT,
    NO_PINS,
    NO_RULES,
    InvalidPin,
    ItemRules,
    allowed_items,
    arrange_among,
    most_shown,
    valid_pins,
)
from slotwise.checks import BadInput, Floats, Ints, one_of
from slotwise.counts import Counts
from slotwise.item_terms import ItemTerms
from slotwise.service.ensembles.arrange_draw import DisplayRules
from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.ensembles.page_ensemble import PageEnsemble
from slotwise.service.ensembles.propensities import PickedDisplays, random_order
from slotwise.service.errors import DoesNotFit, FieldError, TooFewItems
from slotwise.service.pages.active_items import ActiveItems
from slotwise.service.pages.count_matrix import PRIOR
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded, find_unused
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.pages.page_learner import PageLearner, RefreshJob
from slotwise.service.pages.page_pins import PinnedItems, PinsInEffect
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.pages.units import N_BUCKETS, allocate, bucket_of, variant_of
from slotwise.service.registers import Counting, Registers
from slotwise.service.store.interface import (
    Arrangement,
    CellCounts,
    CountRows,
    Display,
    DisplayChange,
    DisplayEntry,
    PageCounts,
    StoredPage,
)
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import PageBlock, page_block

DROP_MARGIN = 7200.0  # seconds; if the clock jumps by an hour, displays that can still be clicked must not be dropped
_BYTES_OF_PAGE, _BYTES_OF_ITEM = 16_000, 200  # rough, without counts and draws; a page of 50 items takes 48 kB
MOST_PICKED = 8  # constraints of a page whose displays are kept for propensities; with 64 draws, each takes 3 kB
_DEFAULT_SPEC = ItemSpec()
_ANY_DISPLAY = RecommendationRequest()
_COUNTING = {"issued": Counting.ISSUED, "viewed": Counting.VIEWED}


class _Constraints(NamedTuple):
    """Which items may be shown, and the pins. Pins are an array with an item or EMPTY for each position, and a dict."""

    allowed: NDArray[np.bool_]
    pins: Ints
    pinned: Mapping[int, int]
    rules: ItemRules
    of_page: bool = False  # these are the constraints of the page; the request adds none


class PageModel:
    """One page. It may be created on any thread. All calls are made on the thread of the event loop.

    `on_change` is called whenever a new ensemble may be due.
    """

    def __init__(
        self,
        page: StoredPage,
        items: list[tuple[str, ItemSpec]],
        counts: PageCounts | CountRows,
        rng: np.random.Generator,
        on_change: Callable[["PageModel"], None] = lambda _: None,
        arrangements: ArrangementCache | None = None,
        folded: Folded = NOTHING_FOLDED,
    ) -> None:
        self._rng = rng
        self._kept_arrangements = ArrangementCache() if arrangements is None else arrangements
        self.names, self.specs = [sys.intern(name) for name, _ in items], [_shared(spec) for _, spec in items]
        self.items = {name: number for number, name in enumerate(self.names)}
        self.revision = counts.revision
        self._terms = ItemTerms(len(self.specs))
        self._set_terms(range(len(self.specs)))
        self._define(page)
        self._active = ActiveItems(self.specs)
        if page.body.spec.default_order:
            self._default_scores()  # here, because an order may be long
        self._learner = PageLearner(page.body, self.specs, self._rules, counts, rng, folded)
        self._on_change = on_change

    def _define(self, page: StoredPage) -> None:
        spec = page.body.spec
        self.page = page
        self._counting = Counting.NEVER if spec.mode == "off" else _COUNTING[spec.count]
        self._until_seconds = spec.click_window
        self._drop_seconds = max(spec.click_window, spec.keep_seconds()) + DROP_MARGIN
        self.segments = {name: k for k, name in enumerate(page.body.segments) if name in ("", *spec.segments)}
        self._layouts = {name: Layout.of(page, name) for name in spec.all_layouts()}
        self._first_layout = next(iter(self._layouts))
        self._rules = self._terms.rules(spec.most_per_category or NO_LIMIT)
        self._default_order: Floats | None = None
        self._page_pins = PinsInEffect(page.body.pins)
        self._pins_used: dict[str, PinnedItems] = {}  # those that applied to the last request, by layout
        self._forget_arrangements()

    def redefine(self, page: StoredPage) -> bool:
        """Follow a new definition. Returns False if this is not possible, so that the page must be loaded again.

        That is the case if the new definition has another policy or template, or other columns or segments of the count
        matrix, or uses what is folded.
        """
        before, after = self.page.body, page.body
        if before.spec.template != after.spec.template:
            return False
        if (before.columns, before.segments) != (after.columns, after.segments):
            return False
        if (before.spec.policy, before.spec.params) != (after.spec.policy, after.spec.params):
            return False
        if self.folded.still_unused(after, self.specs) != self.folded:
            return False
        self._define(page)
        self._learner.layouts_changed()
        self._learner.rules = self._rules
        self._on_change(self)
        return True

    # displays

    def choose(
        self,
        request: RecommendationRequest,
        id: str,
        nonce: int,
        now: float,
        degraded: bool = False,
        preview: bool = False,
    ) -> Display:
        """Choose a display for one request. If displays count when they are issued, count its skips at once.

        Degraded displays and previews never count.
        """
        layout, segment = self._layout(request.layout), self._segment(request.segment)
        constraints = self._constraints(layout, request, now)
        unit = None if request.unit is None else request.unit.encode()
        variant = self._variant(unit)
        arrangement = self._arrangement(layout, segment, variant, constraints, request.eligible is not None)
        entries = arrangement.entries
        registers = Registers(len(entries), Counting.NEVER if degraded or preview else self._counting)
        display = Display(
            id,
            nonce,
            self.page.number,
            layout.name,
            segment,
            now,
            now + self._until_seconds,
            now + self._drop_seconds,
            variant,
            self.page.epoch,
            registers,
            entries,
            degraded=degraded,
            warming=variant == "learnt" and self._learner.warming and self._learner.learns,
            arrangement=arrangement,
            allocation=self.page.allocation,
            bucket=nonce % N_BUCKETS if unit is None else bucket_of(unit, self.page.unit_secret),  # a nonce is random
        )
        if registers.count_at_once:
            self._learner.count_skips(display)
        self._on_change(self)
        return display

    def check_enough_items(self, request: RecommendationRequest, now: float) -> None:
        """Raise TooFewItems if a display for this request would not fill all positions."""
        layout = self._layout(request.layout)
        constraints = self._constraints(layout, request, now)
        available = most_shown(constraints.allowed, constraints.pinned.values(), constraints.rules)
        if available < len(layout.positions):
            line = f"{available} items are too few for {len(layout.positions)} positions"
            raise TooFewItems(line, [FieldError("", line)])

    def left_out(self, display: Display) -> list[str]:
        """The positions for which the display has no item. The layout is that of the current definition."""
        layout = self._layouts.get(display.layout)
        return [] if layout is None else _positions_left_out(layout, display.entries)

    def effective_pins(self, layout: str, now: float) -> dict[str, str]:
        """The pins that apply now in a layout, as {position: item}. A pin applies if its item may be shown."""
        known = self._layouts[layout]
        pinned = self._constraints(known, _ANY_DISPLAY, now).pinned
        return {known.positions[k]: self.names[item] for k, item in pinned.items()}

    def default_display(self, layout: str, now: float) -> dict[str, str]:
        """The display in default order, as {position: item}. The page's pins stay in place."""
        known = self._layouts[layout]
        constraints = self._constraints(known, _ANY_DISPLAY, now)
        self._fill(known, "default", constraints)
        return {entry.position: self.names[entry.item] for entry in self._entries(known, constraints, "")}

    def active_items(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now."""
        return self._active.at(now)

    def likely_displays(self, now: float) -> PickedDisplays | None:
        """The best display under each draw, in the first layout without a segment. None while there are no draws."""
        learner = self._learner
        if learner.warming or not learner.learns or not self.specs:
            return None
        layout = self._layouts[self._first_layout]
        constraints = self._constraints(layout, _ANY_DISPLAY, now)
        if learner.draws_items(0, constraints.allowed, self._active.last):
            return None
        rules = DisplayRules(constraints.allowed, constraints.pins, layout.no_pins, constraints.rules)
        return self._picked_displays(layout, 0, constraints, rules)

    def _variant(self, unit: bytes | None) -> str:
        """The variant of a unit. Without a unit, every display is its own unit."""
        spec = self.page.body.spec
        if spec.mode != "learn":
            return "default"
        if spec.holdout == 0.0 and spec.learnt_share == 1.0:
            return "learnt"
        if unit is None:
            return allocate(spec, self._rng.random(), self._rng.random())
        return variant_of(unit, self.page.unit_secret, spec)

    def _reason(self, variant: str, restricted: bool) -> str:
        if variant == "learnt":
            return "eligible" if restricted else "learnt"
        return self.page.body.spec.holdout_order if variant == "holdout" else "default"

    def _arrangement(
        self, layout: Layout, segment: int, variant: str, constraints: _Constraints, restricted: bool
    ) -> Arrangement:
        """Arrange items by the rule of the variant. If possible, this is the arrangement of an earlier display."""
        learner, reason = self._learner, self._reason(variant, restricted)
        if variant != "learnt" or not learner.learns or not self.specs:
            at_random = self._fill(layout, variant, constraints)
            return self._filled(layout, constraints, reason, self._rule_propensities(layout, constraints, at_random))
        pick = learner.pick(layout, segment, constraints.rules.most_per_category)
        arranged, active, wanted = None, self._active.last, self.page.body.spec.propensities
        from_list = (constraints.of_page or wanted) and not learner.draws_items(segment, constraints.allowed, active)
        if constraints.of_page and from_list:
            arranged = self._arranged.get((layout.name, segment))
            if arranged is None:
                arranged = self._arranged[layout.name, segment] = {}
            if (known := arranged.get(pick)) is not None:
                return known
        rules = DisplayRules(constraints.allowed, constraints.pins, layout.no_pins, constraints.rules)
        propensities = None
        if wanted and from_list:
            picked = self._picked_displays(layout, segment, constraints, rules)
            learner.fill(pick, layout, segment, active, rules)
            propensities = picked.propensities(layout.display)
        else:
            learner.fill(pick, layout, segment, active, rules)
        arrangement = self._filled(layout, constraints, reason, propensities)
        if arranged is not None:
            self._kept_arrangements.add(arranged, pick, arrangement)
        return arrangement

    def _rule_propensities(self, layout: Layout, constraints: _Constraints, at_random: bool) -> list[float] | None:
        """The propensities of the display that was just filled without what was learnt."""
        if not self.page.body.spec.propensities:
            return None
        if not at_random:
            return [1.0] * len(layout.positions)
        return random_order(constraints.allowed, constraints.pins, constraints.rules, layout.display)

    def _picked_displays(
        self, layout: Layout, segment: int, constraints: _Constraints, rules: DisplayRules
    ) -> PickedDisplays:
        """All displays from which one is picked under these constraints. Those of the last few constraints are kept."""
        key: tuple[object, ...] = layout.name, segment
        if not constraints.of_page:
            most = constraints.rules.most_per_category
            key = layout.name, segment, constraints.allowed.tobytes(), constraints.pins.tobytes(), most
        known = self._picked.get(key)
        if known is None:
            known = self._learner.picked_displays(layout, segment, self._active.last, rules)
            if len(self._picked) >= MOST_PICKED:
                del self._picked[next(iter(self._picked))]
            self._picked[key] = known
        return known

    def _filled(
        self, layout: Layout, constraints: _Constraints, reason: str, propensities: list[float] | None
    ) -> Arrangement:
        """The display that was just filled for the layout."""
        entries = self._entries(layout, constraints, reason)
        if propensities is not None:
            for entry in entries:
                entry.propensity = propensities[layout.index_of[entry.position]]
        over_limit = self._over_limit(constraints.pinned.values(), constraints.rules)
        return Arrangement(entries, _positions_left_out(layout, entries), over_limit=over_limit)

    def _forget_arrangements(self) -> None:
        """Call this when the ensemble, the items or the definition of the page have changed."""
        self._page_constraints: dict[str, _Constraints] = {}  # by layout
        self._arranged: dict[tuple[str, int], dict[int, Arrangement]] = {}  # (layout, segment) -> pick -> arrangement
        self._picked: dict[tuple[object, ...], PickedDisplays] = {}  # by layout, segment and constraints

    def _fill(self, layout: Layout, variant: str, constraints: _Constraints) -> bool:
        """Fill the display of the layout without what was learnt, and whatever the values of items are.

        Returns whether the order is random.
        """
        allowed, pins, rules = constraints.allowed, constraints.pins, constraints.rules
        if rules.values.size:
            rules = rules._replace(values=NO_RULES.values)
        if not self.specs:
            layout.display.fill(EMPTY)
            return False
        # a policy that does not learn shows items at random
        at_random = variant == "learnt" or (variant == "holdout" and self.page.body.spec.holdout_order == "random")
        scores = self._rng.random(len(self.specs)) if at_random else self._default_scores()
        arrange_among(scores, layout.in_order, allowed, pins, rules, layout.display)
        return at_random

    def _default_scores(self) -> Floats:
        """The default order as scores. Items that it does not name follow in the order in which they were added."""
        if self._default_order is None:
            self._default_order = -np.arange(len(self.specs), dtype=np.float64)
            for rank, name in enumerate(reversed(self.page.body.spec.default_order)):
                if name in self.items:
                    self._default_order[self.items[name]] = 1.0 + rank
        return self._default_order

    def _entries(self, layout: Layout, constraints: _Constraints, reason: str) -> list[DisplayEntry]:
        cells, pinned = zip(layout.positions, layout.numbers, layout.display.tolist(), strict=True), constraints.pinned
        if not pinned and not constraints.rules.values.size:
            return [DisplayEntry(position, column, item, reason) for position, column, item in cells if item != EMPTY]
        return [
            DisplayEntry(
                position,
                column,
                item,
                "pinned" if layout.index_of[position] in pinned else reason,
                self._terms.value(item),
            )
            for position, column, item in cells
            if item != EMPTY
        ]

    def over_limit(self, display: Display, request: RecommendationRequest) -> list[str]:
        """The categories of which pins show more items than the limit allows, in a display that was issued before."""
        rules = self._rules_of(request)
        return self._over_limit([entry.item for entry in display.entries if entry.reason == "pinned"], rules)

    def _over_limit(self, pinned: Iterable[int], rules: ItemRules) -> list[str]:
        if not rules.has_limit:
            return []
        numbers = Counter(self._terms.category(item) for item in pinned)
        return [name for name, number in numbers.items() if name is not None and number > rules.most_per_category]

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
        active, page_pins = self._active.at(now), self._page_pins.at(now)
        if page_pins is not self._pins_used:
            self._forget_arrangements()
            self._pins_used = page_pins
        if _adds_nothing(request):
            known = self._page_constraints.get(layout.name)
            if known is not None:
                if known.allowed is active:
                    return known
                self._forget_arrangements()  # the items that may be shown have changed
            constraints = self._new_constraints(layout, request, active)._replace(of_page=True)
            self._page_constraints[layout.name] = constraints
            return constraints
        return self._new_constraints(layout, request, active)

    def _new_constraints(
        self, layout: Layout, request: RecommendationRequest, active: NDArray[np.bool_]
    ) -> _Constraints:
        page_pins, rules = self._pins_used.get(layout.name), self._rules_of(request)
        if _adds_nothing(request) and not page_pins:
            return _Constraints(active, layout.no_pins, NO_PINS, rules)
        eligible = None if request.eligible is None else self._item_numbers("/eligible", request.eligible)
        excluded = self._item_numbers("/excluded", request.excluded)
        allowed = allowed_items(active, eligible, excluded)
        if not request.pinned and not page_pins:
            return _Constraints(allowed, layout.no_pins, NO_PINS, rules)
        pinned = self._pins(layout, request.pinned, active, excluded)
        pins = layout.no_pins.copy()
        for position, item in pinned.items():
            pins[position] = item
        return _Constraints(allowed, pins, pinned, rules)

    def _rules_of(self, request: RecommendationRequest) -> ItemRules:
        if request.most_per_category is None:
            return self._rules
        return self._rules._replace(most_per_category=request.most_per_category)

    def _pins(
        self, layout: Layout, pinned: Mapping[str, str], active: NDArray[np.bool_], excluded: list[int]
    ) -> dict[int, int]:
        requested = {}
        for position, name in pinned.items():
            pointer = f"/pinned/{position}"
            if position not in layout.index_of:
                raise DoesNotFit.at(pointer, _unknown("position", position, layout.index_of))
            (requested[layout.index_of[position]],) = self._item_numbers(pointer, [name])
        page_pins = self._pins_used.get(layout.name, {})
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

    def apply_changes(self, changes: list[DisplayChange]) -> bool:
        """Apply changes of counts that the store has committed.

        Returns False if they change what is folded, so that the page must be loaded again. A display that counts only
        when it is viewed has no counts before.
        """
        if self.folded != NOTHING_FOLDED and _change_folded(changes, self.folded):
            return False
        self._learner.apply_changes(changes, self.page.epoch)
        self._on_change(self)
        return True

    def begin_epoch(self, epoch: int, began: float) -> None:
        """Begin an epoch, in which earlier counts weigh less. Priors do not fade."""
        passed = epoch - self.page.epoch
        if passed > 0:
            self.page = self.page._replace(epoch=epoch, epoch_began=began)
            self._learner.fade(passed)
            self._on_change(self)

    def counts(self, items: Sequence[int] | None = None) -> Counts:
        """A copy of the counts of these items, or of all, with the priors in column 0. What is left out counts as zero.

        Any thread may call this. It may wait until a new ensemble is made.
        """
        return self._learner.matrix.counts(items)

    def block(self) -> PageBlock:
        """The counts in the form that a template needs. Any thread may call this."""
        matrix = self._learner.matrix
        with matrix.locked() as counts:
            kept = matrix.columns[PRIOR + 1 :] >= 0
            return page_block(self.page, list(compress(self.page.body.columns, kept)), counts)

    def cells(self) -> list[CellCounts]:
        """The counts above zero, in the store's form. Any thread may call this."""
        return self._learner.matrix.cells()

    def apply_pending(self) -> None:
        """Apply the pending changes to the counts. Background threads call this."""
        self._learner.matrix.apply_pending()

    @property
    def folded(self) -> Folded:
        """The items, columns and segments whose counts are only in the store."""
        return self._learner.folded

    def drop(self, folded: Folded) -> None:
        """Drop the counts of items, columns and segments from memory. They must be unused."""
        if self.folded | folded != self.folded:
            self._learner.drop(folded)
            self._on_change(self)

    def unused(self) -> Folded:
        """What has counts in memory, but can be in no display. What the log does not count of it can be dropped."""
        counted = np.flatnonzero((self._learner.matrix.rows >= 0).any(axis=0)).tolist()
        return find_unused(self.page.body, self.specs, counted) - self.folded

    @property
    def n_changes(self) -> int:
        """How often the items or the layouts were changed."""
        return self._learner.n_changes

    @property
    def n_bytes(self) -> int:
        """About how much memory the page takes, with its ensemble."""
        return _BYTES_OF_PAGE + _BYTES_OF_ITEM * len(self.specs) + self._learner.n_bytes

    # the template

    @property
    def template(self) -> PageTemplate | None:
        return self._learner.template

    def join(self, template: PageTemplate) -> None:
        """Share with the other pages of the template from now on. The page must be new in memory."""
        self._learner.template = template

    @property
    def uses_template(self) -> bool:
        """Whether the page takes draws from a template. It does not if its policy has no use for them."""
        return self._learner.uses_template

    # the ensemble

    @property
    def urgency(self) -> int:
        """How urgent a new ensemble is. It is not due if this is negative."""
        return self._learner.urgency()

    @property
    def growth(self) -> float:
        """The change of the counts since the ensemble was made, relative to the change at which a new one is due."""
        return self._learner.growth

    def begin_refresh(self) -> RefreshJob:
        """A job that makes a new ensemble on another thread. Its result is for `install`."""
        return self._learner.begin_refresh(self._active.last)

    def install(self, ensemble: PageEnsemble | None) -> None:
        """Choose displays from this ensemble from now on."""
        self._learner.install(ensemble)
        self._forget_arrangements()
        self._on_change(self)

    # items

    def set_items(self, items: Iterable[tuple[int, str, ItemSpec]]) -> bool:
        """Add or change items, identified by number. New items must come in the order of their numbers.

        Returns False if an item that is left out is used again, so that the page must be loaded again.
        """
        size_before, before = len(self.specs), dict[int, ItemSpec | None]()
        for number, name, spec in items:
            if number == len(self.specs):
                self.names.append(sys.intern(name))
                self.items[self.names[number]] = number
                self.specs.append(_shared(spec))
                before[number] = None
            else:
                before.setdefault(number, self.specs[number])
                self.specs[number] = _shared(spec)
        self._active.change(((number, self.specs[number]) for number in before), len(self.specs))
        self._default_order = None
        self._forget_arrangements()
        self._follow_terms(size_before, before)
        self._learner.items_changed(size_before, before.items())
        self._on_change(self)
        return not any(number in self.folded.items and self.specs[number].state != "retired" for number in before)

    def _follow_terms(self, size_before: int, changed: Iterable[int]) -> None:
        """Follow changes of values and categories. New items change neither leaders nor plans."""
        if len(self.specs) > size_before:
            self._terms.grow(len(self.specs))
            self._set_terms(range(size_before, len(self.specs)))
            self._rules = self._learner.rules = self._terms.rules(self._rules.most_per_category)
        if self._set_terms(number for number in changed if number < size_before):
            self._rules = self._terms.rules(self._rules.most_per_category)
            self._learner.rules_changed(self._rules)

    def _set_terms(self, items: Iterable[int]) -> bool:
        """Read the values and categories of items. Returns whether one of them was different before."""
        listed = list(items)
        return self._terms.change(
            {item: self.specs[item].value for item in listed}, {item: self.specs[item].category for item in listed}
        )


def _change_folded(changes: list[DisplayChange], folded: Folded) -> bool:
    cells = ((display.entries[k], display.segment) for display, entries, _ in changes for k, _, _ in entries)
    return any(folded.has_cell(entry.item, entry.column, segment) for entry, segment in cells)


def _positions_left_out(layout: Layout, entries: list[DisplayEntry]) -> list[str]:
    shown = [entry.position for entry in entries]
    return [] if shown == layout.positions else [position for position in layout.positions if position not in shown]


def _adds_nothing(request: RecommendationRequest) -> bool:
    """Whether a request has no constraints of its own."""
    constrained = request.excluded or request.pinned or request.most_per_category is not None
    return request.eligible is None and not constrained


def _shared(spec: ItemSpec) -> ItemSpec:
    """Use one object for all items with default settings. This saves memory, because most items have them."""
    return _DEFAULT_SPEC if spec == _DEFAULT_SPEC else spec


def _unknown(what: str, name: object, names: Iterable[str]) -> str:
    """An error message of one line for an unknown name. It lists the first 20 of the known names."""
    try:
        one_of(what, name, sorted(islice(names, 20)))
    except BadInput as error:
        return str(error)
    return f"unknown {what}"
