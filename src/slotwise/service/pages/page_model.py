"""A page in memory: its items, what it learns, and the displays that it chooses."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from slotwise.counts import Counts
from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.ensembles.page_ensemble import PageEnsemble
from slotwise.service.ensembles.picked_displays import PickedDisplays
from slotwise.service.pages.count_matrix import PRIOR
from slotwise.service.pages.display_chooser import DisplayChooser
from slotwise.service.pages.display_constraints import DisplayConstraints
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded, find_unused
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.pages.page_items import PageItems
from slotwise.service.pages.page_learner import PageLearner, RefreshJob
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.pages.units import N_BUCKETS, HashedUnit, UnitHash, allocate
from slotwise.service.registers import Counting, Registers
from slotwise.service.store.records import CellCounts, CountRows, Display, DisplayChange, PageCounts, StoredPage
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import PageBlock, page_block

DROP_MARGIN = 7200.0  # seconds; if the clock jumps by an hour, displays that can still be clicked must not be dropped
_BYTES_OF_PAGE, _BYTES_OF_ITEM = 16_000, 200  # rough, without counts and draws; a page of 50 items takes 48 kB
_ANY_DISPLAY = RecommendationRequest()
_COUNTING = {"issued": Counting.ISSUED, "viewed": Counting.VIEWED}


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
        self._items = PageItems(items, page.body.spec.features)
        self.names, self.specs, self.items = self._items.names, self._items.specs, self._items.numbers
        self.revision = counts.revision
        self.seen: Mapping[int, int] = {}  # the last group of each other node that the page contains
        self._define(page)
        self._hash_unit = UnitHash(page.unit_secret)
        self._learner = PageLearner(page.body, self._items, self._constraints.rules, counts, rng, folded)
        kept = ArrangementCache() if arrangements is None else arrangements
        self._chooser = DisplayChooser(page.body.spec, self._items, self._learner, rng, kept)
        self._on_change = on_change

    def _define(self, page: StoredPage) -> None:
        spec = page.body.spec
        self.page = page
        self._counting = Counting.NEVER if spec.mode == "off" else _COUNTING[spec.count]
        self._until_seconds = spec.click_window
        self._drop_seconds = max(spec.click_window, spec.keep_seconds()) + DROP_MARGIN
        self._constraints = DisplayConstraints(page, self._items)
        self.segments = self._constraints.segments

    def redefine(self, page: StoredPage) -> bool:
        """Follow a new definition. Returns False if this is not possible, so that the page must be loaded again.

        That is the case if the new definition has another policy, other features or another template, or other columns
        or segments of the count matrix, or uses what is folded.
        """
        before, after = self.page.body, page.body
        if before.spec.template != after.spec.template:
            return False
        if (before.columns, before.segments) != (after.columns, after.segments):
            return False
        if (before.spec.policy, before.spec.params) != (after.spec.policy, after.spec.params):
            return False
        if before.spec.features != after.spec.features:
            return False
        if self.folded.still_unused(after, self.specs) != self.folded:
            return False
        self._define(page)
        self._chooser.define(after.spec)
        self._learner.layouts_changed()
        self._learner.rules = self._constraints.rules
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
        known = self._constraints
        layout, segment = known.layout(request.layout), known.segment(request.segment)
        constraints = known.of(layout, request, now)
        unit = None if request.unit is None else self._hash_unit(request.unit.encode())
        variant = self._variant(unit)
        arrangement = self._chooser.choose(layout, segment, variant, constraints, request.eligible is not None)
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
            bucket=nonce % N_BUCKETS if unit is None else unit.bucket,  # a nonce is random
        )
        if registers.count_at_once:
            self._learner.count_skips(display)
        if self._learner.may_be_due:
            self._on_change(self)
        return display

    def check_enough_items(self, request: RecommendationRequest, now: float) -> None:
        """Raise TooFewItems if a display for this request would not fill all positions."""
        self._constraints.check_enough_items(request, now)

    def left_out(self, display: Display) -> list[str]:
        """The positions for which the display has no item. The layout is that of the current definition."""
        layout = self._constraints.layouts.get(display.layout)
        return [] if layout is None else layout.left_out(display.entries)

    def over_limit(self, display: Display, request: RecommendationRequest) -> list[str]:
        """The categories of which pins show more items than the limit allows, in a display that was issued before."""
        pinned = [entry.item for entry in display.entries if entry.reason == "pinned"]
        return self._chooser.over_limit(pinned, self._constraints.rules_of(request))

    def effective_pins(self, layout: str, now: float) -> dict[str, str]:
        """The pins that apply now in a layout, as {position: item}. A pin applies if its item may be shown."""
        known = self._constraints.layouts[layout]
        pinned = self._constraints.of(known, _ANY_DISPLAY, now).pinned
        return {known.positions[k]: self.names[item] for k, item in pinned.items()}

    def default_display(self, layout: str, now: float) -> dict[str, str]:
        """The display in default order, as {position: item}. The page's pins stay in place."""
        known = self._constraints.layouts[layout]
        return self._chooser.default_display(known, self._constraints.of(known, _ANY_DISPLAY, now))

    def active_items(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now."""
        return self._items.active.at(now)

    def likely_displays(self, now: float) -> PickedDisplays | None:
        """The best display under each draw, in the first layout without a segment. None while there are no draws."""
        layout = self._constraints.layout(None)
        return self._chooser.likely_displays(layout, self._constraints.of(layout, _ANY_DISPLAY, now))

    def _variant(self, unit: HashedUnit | None) -> str:
        """The variant of a unit. Without a unit, every display is its own unit."""
        spec = self.page.body.spec
        if spec.mode != "learn":
            return "default"
        if spec.holdout == 0.0 and spec.learnt_share == 1.0:
            return "learnt"
        if unit is None:
            return allocate(spec, self._rng.random(), self._rng.random())
        return allocate(spec, unit.first, unit.second)

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
        self._learner.ask_again()  # so that the next display asks for another call
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
        return _BYTES_OF_PAGE + _BYTES_OF_ITEM * len(self.specs) + self._items.features.n_bytes + self._learner.n_bytes

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
        return self._learner.begin_refresh(self._items.active.last)

    def install(self, ensemble: PageEnsemble | None) -> None:
        """Choose displays from this ensemble from now on."""
        self._learner.install(ensemble)
        self._chooser.forget()
        self._on_change(self)

    # items

    def set_items(self, items: Iterable[tuple[int, str, ItemSpec]]) -> bool:
        """Add or change items, identified by number. New items must come in the order of their numbers.

        Returns False if an item that is left out is used again, so that the page must be loaded again.
        """
        change = self._items.change(items)
        self._constraints.items_changed()
        self._chooser.forget()
        if change.new_terms:
            self._learner.rules_changed(self._constraints.rules)
        else:  # new items change neither leaders nor plans
            self._learner.rules = self._constraints.rules
        self._learner.items_changed(change.size_before, change.before.items())
        self._on_change(self)
        used = (number for number in change.before if self.specs[number].state != "retired")
        return not any(number in self.folded.items for number in used)


def _change_folded(changes: list[DisplayChange], folded: Folded) -> bool:
    cells = ((display.entries[k], display.segment) for display, entries, _ in changes for k, _, _ in entries)
    return any(folded.has_cell(entry.item, entry.column, segment) for entry, segment in cells)
