"""Chooses the displays of a page: by what was learnt, in the default order, or at random, as the variant says."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from slotwise.arrange import EMPTY, NO_RULES, ItemRules, arrange_among
from slotwise.service.ensembles.arrange_draw import DisplayRules
from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.ensembles.picked_displays import DrawnShares, PickedDisplays
from slotwise.service.ensembles.propensities import RandomOrder, random_order
from slotwise.service.pages.display_constraints import Constraints
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page_definition import PageSpec
from slotwise.service.pages.page_items import PageItems
from slotwise.service.pages.page_learner import PageLearner
from slotwise.service.store.records import Arrangement, DisplayEntry

MOST_PICKED = 8  # constraints of a page whose displays are kept for propensities; with 64 draws, each takes 3 kB


class _Arranged:
    """What is kept of the displays of one layout and segment under the constraints of the page."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.by_pick: dict[int, Arrangement] = {}
        self.picked: PickedDisplays | DrawnShares | None = None  # made if the page wants propensities


class DisplayChooser:
    """Arranges items by the rule of a variant. It keeps the arrangement of each draw until `forget` is called."""

    def __init__(
        self,
        spec: PageSpec,
        items: PageItems,
        learner: PageLearner,
        rng: np.random.Generator,
        kept_arrangements: ArrangementCache,
    ) -> None:
        self._items, self._learner, self._rng = items, learner, rng
        self._kept_arrangements = kept_arrangements
        self.define(spec)

    def define(self, spec: PageSpec) -> None:
        """Follow a new definition."""
        self._spec = spec
        self._items.forget_default_order()
        if spec.default_order:
            self._items.default_scores(spec.default_order)  # here, because an order may be long
        self.forget()

    def forget(self) -> None:
        """Call this when the ensemble, the items or the definition of the page have changed."""
        self._arranged: dict[tuple[str, int], _Arranged] = {}  # by layout and segment
        # by layout, segment and the constraints of a request
        self._picked: dict[tuple[object, ...], PickedDisplays | DrawnShares] = {}
        self._random_orders: dict[str, tuple[Constraints, RandomOrder | None]] = {}  # by layout

    def choose(
        self, layout: Layout, segment: int, variant: str, constraints: Constraints, restricted: bool
    ) -> Arrangement:
        """Arrange items by the rule of the variant. If possible, this is the arrangement of an earlier display.

        `restricted` says whether the request names the items that may be shown.
        """
        if variant == "learnt" and constraints.of_page:  # most requests
            arranged = self._arranged.get((layout.name, segment))
            if arranged is not None and arranged.constraints is constraints:
                pick = self._learner.pick(layout, segment, constraints.rules.most_per_category)
                known = arranged.by_pick.get(pick)
                return self._arrange(pick, layout, segment, constraints, "learnt") if known is None else known
        reason = self._reason(variant, restricted)
        if variant != "learnt" or not self._learner.learns or not self._items.specs:
            at_random = self._fill(layout, variant, constraints)
            return self._filled(layout, constraints, reason, self._rule_propensities(layout, constraints, at_random))
        if constraints.of_page:
            self._arranged[layout.name, segment] = _Arranged(constraints)
        pick = self._learner.pick(layout, segment, constraints.rules.most_per_category)
        return self._arrange(pick, layout, segment, constraints, reason)

    def _arrange(self, pick: int, layout: Layout, segment: int, constraints: Constraints, reason: str) -> Arrangement:
        """Arrange items as the pick says. The result is kept if all displays of this pick are equal."""
        learner, active, wanted = self._learner, self._items.active.last, self._spec.propensities
        rules = DisplayRules(constraints.allowed, constraints.pins, layout.no_pins, constraints.rules)
        picked = self._picked_displays(layout, segment, constraints, rules) if wanted else None
        propensities: list[float] | None = None
        if isinstance(picked, PickedDisplays):
            layout.display[:] = picked.displays[pick]
            propensities = picked.propensities(pick)
        else:
            learner.fill(pick, layout, segment, active, rules)
            propensities = None if picked is None else picked.propensities(layout.display)
        arrangement = self._filled(layout, constraints, reason, propensities)
        if constraints.of_page and not learner.draws_items(segment, constraints.allowed, active):
            self._kept_arrangements.add(self._arranged[layout.name, segment].by_pick, pick, arrangement)
        return arrangement

    def likely_displays(self, layout: Layout, constraints: Constraints) -> PickedDisplays | None:
        """The best display under each draw, for requests without a segment. None while there are no draws."""
        learner, active = self._learner, self._items.active.last
        if learner.warming or not learner.learns or not self._items.specs:
            return None
        rules = DisplayRules(constraints.allowed, constraints.pins, layout.no_pins, constraints.rules)
        picked = learner.picked_displays(layout, 0, active, rules)
        return picked if isinstance(picked, PickedDisplays) else None

    def default_display(self, layout: Layout, constraints: Constraints) -> dict[str, str]:
        """The display in default order, as {position: item}."""
        self._fill(layout, "default", constraints)
        return {entry.position: self._items.names[entry.item] for entry in self._entries(layout, constraints, "")}

    def over_limit(self, pinned: Collection[int], rules: ItemRules) -> list[str]:
        """The categories of which pins show more items than the limit allows."""
        if not pinned or not rules.has_limit:
            return []
        numbers = Counter(self._items.terms.category(item) for item in pinned)
        return [name for name, number in numbers.items() if name is not None and number > rules.most_per_category]

    def _reason(self, variant: str, restricted: bool) -> str:
        if variant == "learnt":
            return "eligible" if restricted else "learnt"
        return self._spec.holdout_order if variant == "holdout" else "default"

    def _rule_propensities(self, layout: Layout, constraints: Constraints, at_random: bool) -> list[float] | None:
        """The propensities of the display that was just filled without what was learnt."""
        if not self._spec.propensities:
            return None
        if not at_random:
            return [1.0] * len(layout.positions)
        order = self._random_order(layout, constraints)
        return None if order is None else order.propensities(layout.display)

    def _random_order(self, layout: Layout, constraints: Constraints) -> RandomOrder | None:
        """The law of a random order. It is kept for the constraints of the page."""
        known = self._random_orders.get(layout.name)
        if known is not None and known[0] is constraints:
            return known[1]
        order = random_order(constraints.allowed, constraints.pins, constraints.rules)
        if constraints.of_page:
            self._random_orders[layout.name] = constraints, order
        return order

    def _picked_displays(
        self, layout: Layout, segment: int, constraints: Constraints, rules: DisplayRules
    ) -> PickedDisplays | DrawnShares:
        """All displays from which one is picked under these constraints. Those of the last few constraints are kept."""
        if constraints.of_page:
            arranged = self._arranged[layout.name, segment]
            if arranged.picked is None:
                arranged.picked = self._learner.picked_displays(layout, segment, self._items.active.last, rules)
            return arranged.picked
        most = constraints.rules.most_per_category
        key = layout.name, segment, constraints.allowed.tobytes(), constraints.pins.tobytes(), most
        known = self._picked.get(key)
        if known is None:
            known = self._learner.picked_displays(layout, segment, self._items.active.last, rules)
            if len(self._picked) >= MOST_PICKED:
                del self._picked[next(iter(self._picked))]
            self._picked[key] = known
        return known

    def _filled(
        self, layout: Layout, constraints: Constraints, reason: str, propensities: list[float] | None
    ) -> Arrangement:
        """The display that was just filled for the layout."""
        entries = self._entries(layout, constraints, reason)
        if propensities is not None:
            for entry in entries:
                entry.propensity = propensities[layout.index_of[entry.position]]
        over_limit = self.over_limit(constraints.pinned.values(), constraints.rules)
        return Arrangement(entries, layout.left_out(entries), over_limit=over_limit)

    def _fill(self, layout: Layout, variant: str, constraints: Constraints) -> bool:
        """Fill the display of the layout without what was learnt, and whatever the values of items are.

        Returns whether the order is random.
        """
        allowed, pins, rules = constraints.allowed, constraints.pins, constraints.rules
        if rules.values.size:
            rules = rules._replace(values=NO_RULES.values)
        n_items = len(self._items.specs)
        if not n_items:
            layout.display.fill(EMPTY)
            return False
        # a policy that does not learn shows items at random
        at_random = variant == "learnt" or (variant == "holdout" and self._spec.holdout_order == "random")
        scores = self._rng.random(n_items) if at_random else self._items.default_scores(self._spec.default_order)
        arrange_among(scores, layout.in_order, allowed, pins, rules, layout.display)
        return at_random

    def _entries(self, layout: Layout, constraints: Constraints, reason: str) -> list[DisplayEntry]:
        cells, pinned = zip(layout.positions, layout.numbers, layout.display.tolist(), strict=True), constraints.pinned
        if not pinned and not constraints.rules.values.size:
            return [DisplayEntry(position, column, item, reason) for position, column, item in cells if item != EMPTY]
        return [
            DisplayEntry(
                position,
                column,
                item,
                "pinned" if layout.index_of[position] in pinned else reason,
                self._items.terms.value(item),
            )
            for position, column, item in cells
            if item != EMPTY
        ]
