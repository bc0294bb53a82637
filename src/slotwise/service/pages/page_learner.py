"""What a page learns: its counts, the policy that draws from them, and the ensemble that displays are chosen from."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, ItemRules
from slotwise.checks import Floats, Ints
from slotwise.clickmodels._click_model import ItemFeatures
from slotwise.counts import CountArrays
from slotwise.inference.sampling.draw_budget import DRAWS
from slotwise.inference.sampling.ensemble_draws import Float32s
from slotwise.jit import direct
from slotwise.policies._ensemble_source import EnsembleSource, ensemble_source, growth_of
from slotwise.policies._feature_ensemble import FeatureMemory
from slotwise.policies._policy_module import learns, make_params, serving_params
from slotwise.service.ensembles.arrange_draw import (
    DisplayPlace,
    DisplayRules,
    ExtraItems,
    Int32s,
    arrange_draw,
    arrange_draws,
)
from slotwise.service.ensembles.draws_due import FAR, ITEMS_ADDED, NO_DRAWS, CountsVersion, Growth
from slotwise.service.ensembles.largest_draws import load_quantiles
from slotwise.service.ensembles.new_items import with_new_items
from slotwise.service.ensembles.page_ensemble import (
    EnsembleGroups,
    PageEnsemble,
    RowsAndColumns,
    from_draws,
    from_point_estimates,
)
from slotwise.service.ensembles.picked_displays import (
    UNKNOWN_SHARES,
    DrawnDisplays,
    DrawnShares,
    PickedDisplays,
    with_items_without_row,
)
from slotwise.service.ensembles.unshown_items import NO_EXTRA_ITEMS, ThetaLaws, UnshownItems
from slotwise.service.pages.count_matrix import CountMatrix, cell_array
from slotwise.service.pages.fading import weight
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.pages.page_features import FeatureScaling
from slotwise.service.pages.page_items import PageItems
from slotwise.service.pages.page_policy import serving_policy
from slotwise.service.store.records import CountRows, Display, DisplayChange, PageCounts
from slotwise.service.templates.page_template import PageTemplate, SharedDraws

MOST_PENDING = 1_000  # changes that wait to be applied to the counts; usually housekeeping applies them earlier
_BLOCK = 16  # random numbers drawn at once


class PageLearner:
    """The counts and the ensemble of a page. All calls are made on the event loop, except `RefreshJob.run`.

    A page of a template gives its counts to the template. If its policy draws from a posterior, it takes draws of the
    kappas and of the law of thetas in return.
    """

    def __init__(
        self,
        body: PageBody,
        items: PageItems,
        rules: ItemRules,
        counts: PageCounts | CountRows,
        rng: np.random.Generator,
        folded: Folded = NOTHING_FOLDED,
    ) -> None:
        self.rules = rules
        specs = items.specs
        self._rng, self._specs, self._features = rng, specs, items.features
        policy = serving_policy(body.spec)
        self.learns = learns(policy)
        self._source = ensemble_source(policy)
        self.template: PageTemplate | None = None
        self._params = make_params(policy, serving_params(policy, body.spec.params), None)
        self._has_features = "features" in policy.Params._fields
        self._memory_scaling: FeatureScaling | None = None  # of the features that the memory is for
        self._n_segments, self._n_columns, self._columns = len(body.segments), body.n_columns, body.columns
        all_rows, self.folded = not self._source.shares_prior, folded
        self.matrix = CountMatrix(self._n_segments, body.n_columns, specs, counts, all_rows, folded)
        self._memory: Any = None  # what the source of draws keeps from one call to the next
        with self.matrix.locked() as arrays:
            ties = np.random.default_rng(len(specs))  # not `rng`, which belongs to the thread of the event loop
            self._memory_of = self._where()  # the rows and columns that the memory is for
            self._ensemble = from_point_estimates(arrays, self._memory_of, rules, ties)
        clicks = float(cell_array(counts)[:, 3].sum())
        self._growth = Growth(counts.displays, clicks, growth_of(self._params))
        self._asked: dict[tuple[int, str], tuple[int, Layout]] = {}  # (segment, layout) of the displays so far
        self._priors = _prior_counts(specs)  # clicks and skips of each item
        self._unshown = self._find_unshown()
        self._arrange = direct(arrange_draw)
        self._not_due_before = -math.inf  # the number of displays below which `urgency` need not be asked for again
        # random numbers, drawn in blocks because a single one takes as long as ten; an array takes less than a list
        self._uniforms = array("d")

    def _where(self) -> RowsAndColumns:
        return RowsAndColumns(self.matrix.rows, self.matrix.columns, self.matrix.keys)

    @property
    def uses_template(self) -> bool:
        """Whether the page takes draws from its template."""
        return self.template is not None and self._source.takes_shared_draws

    # displays

    @property
    def warming(self) -> bool:
        """Whether displays come from point estimates, because no draws are made yet."""
        return self._ensemble.warming

    def draws_items(self, segment: int, allowed: NDArray[np.bool_], active: NDArray[np.bool_]) -> bool:
        """Whether some items have no draws in the ensemble. They are drawn for every display."""
        return self._unshown.take_part(segment, allowed, active)

    def pick(self, layout: Layout, segment: int, most_per_category: int) -> int:
        """Pick a draw at random, or a display that the policy planned. Planned displays are numbered after the draws.

        Until the ensemble or the constraints change, the same pick gives the same display, unless `draws_items`. A plan
        is not used for a display with another limit.
        """
        if (segment, layout.name) not in self._asked:
            self._asked[segment, layout.name] = segment, layout
            self.ask_again()
            if self.template is not None and self.uses_template:
                self.template.is_wanted = True
        ensemble = self._ensemble
        n_draws = len(ensemble.beta)
        draw = int(self._random() * n_draws)
        if not ensemble.plans:
            return draw
        plan = ensemble.plans.get((segment, layout.name))
        if plan is None or plan.layout is not layout or plan.most_per_category != most_per_category:
            return draw
        if self._random() < plan.draw_chances[draw]:
            return draw
        return n_draws + min(bisect_right(plan.until, self._random()), len(plan.until) - 1)

    def fill(self, pick: int, layout: Layout, segment: int, active: NDArray[np.bool_], rules: DisplayRules) -> None:
        """Fill the display of the layout as the pick says. `allowed` is `active` if the request has no constraints."""
        ensemble, planned = self._ensemble, pick - len(self._ensemble.beta)
        extra = self._unshown.draw(0 if planned >= 0 else pick, segment, active, rules, self._rng)
        if planned >= 0:
            plan = ensemble.plans[segment, layout.name]
            rules = rules._replace(preferred=plan.displays[planned])
            last = extra if not extra.items.size else ExtraItems(extra.items, np.zeros(extra.items.size))
            self._arrange(plan.scores, 0, last, plan.place, rules, layout.display)
            return
        self._arrange(
            ensemble.scores,
            pick,
            extra,
            DisplayPlace(segment, ensemble.rows, layout.columns),
            rules,
            layout.display,
        )

    def picked_displays(
        self, layout: Layout, segment: int, active: NDArray[np.bool_], rules: DisplayRules
    ) -> PickedDisplays | DrawnShares:
        """The displays of all picks, with the probability of each, or only the shares of items if `draws_items`."""
        any_free = EMPTY in rules.pins
        n_without_row = self._unshown.n_exchangeable(segment, active, rules) if any_free else 0
        if n_without_row is None:
            return UNKNOWN_SHARES
        ensemble, n_draws = self._ensemble, len(self._ensemble.beta)
        chances = np.full(n_draws, 1.0 / n_draws)
        plan = ensemble.plans.get((segment, layout.name))
        if plan is not None and plan.layout is layout and plan.most_per_category == rules.items.most_per_category:
            from_draws = np.array(plan.draw_chances)
            planned = np.diff([0.0, *plan.until[:-1], 1.0]) * (1.0 - from_draws.mean())
            chances = np.concatenate([chances * from_draws, planned])
        if n_without_row and chances.size > n_draws:
            return UNKNOWN_SHARES
        displays = np.empty((chances.size, layout.display.size), np.int64)
        place = DisplayPlace(segment, ensemble.rows, layout.columns)
        arrange_draws(ensemble.scores, NO_EXTRA_ITEMS, place, rules, displays[:n_draws])
        if n_without_row:
            drawn = DrawnDisplays(
                displays,
                _thetas_of(displays, ensemble.scores.theta, ensemble.rows[segment]),
                ensemble.scores.kappa[:, layout.columns].astype(float),
                ensemble.beta,
                chances,
            )
            return with_items_without_row(drawn, n_without_row, rules.pins)
        for pick in range(n_draws, chances.size):
            self.fill(pick, layout, segment, active, rules)
            displays[pick] = layout.display
        return PickedDisplays(displays.astype(np.int32), chances)

    def _random(self) -> float:
        if not self._uniforms:
            self._uniforms.frombytes(self._rng.random(_BLOCK).tobytes())
        return self._uniforms.pop()

    def _find_unshown(self) -> UnshownItems:
        ensemble = self._ensemble
        laws = ThetaLaws(ensemble.beta, ensemble.regression, ensemble.scaling, self._features.values)
        return UnshownItems(ensemble.rows, self._priors, self.rules.values, laws)

    # counts

    def count_skips(self, display: Display) -> None:
        """Count the skips of a display that counts when it is issued."""
        self.matrix.append_skips(display)
        self._growth.add(1.0, 0.0)
        if self.template is not None:
            self.template.count(1.0, 0.0)

    def apply_changes(self, changes: Sequence[DisplayChange], epoch: int) -> None:
        """Apply changes of counts that the store has committed. Their weights are those of this epoch."""
        self.matrix.append_changes(changes, epoch)
        displays = clicks = 0.0
        for display, entry_changes, counted in changes:
            faded = weight(epoch - display.epoch)
            displays += faded * counted
            clicks += faded * sum(change.clicks for change in entry_changes)
        self._add_growth(displays, clicks)

    def fade(self, epochs: int) -> None:
        """Lower the weight of all counts as if this many epochs had passed. Priors do not fade."""
        self.matrix.append_fading(epochs)
        before, factor = self._growth.now, weight(epochs)
        self._growth.fade(factor)
        if self.template is not None:
            self.template.count((factor - 1.0) * before.displays, (factor - 1.0) * before.clicks)

    def _add_growth(self, displays: float, clicks: float) -> None:
        self._growth.add(displays, clicks)
        if self.template is not None:
            self.template.count(displays, clicks)

    def items_changed(self, size_before: int, before: Collection[tuple[int, ItemSpec | None]]) -> None:
        """Follow a change of the items: `before` has the earlier definition of each, or None for a new item."""
        if len(self._specs) > size_before:  # once for all new items, because growing copies all counts
            self.matrix.append_items(len(self._specs))
        for number, old in before:
            self.matrix.append_prior(number, None if old is None else old.prior, self._specs[number].prior)
        self._growth.change()
        if self._priors.any() or any(self._specs[number].prior is not None for number, _ in before):
            priors = np.hstack([self._priors, _prior_counts(self._specs[size_before:])])
            for number, _ in before:
                priors[:, number : number + 1] = _prior_counts(self._specs[number : number + 1])
            self._priors = priors
        else:
            self._priors = _no_priors(len(self._specs))
        self._unshown = self._find_unshown()

    def drop(self, folded: Folded) -> None:
        """Drop these counts, too, with the next job. Their items must not be shown any more."""
        self.folded |= folded

    @property
    def n_changes(self) -> int:
        """How often the items or the layouts were changed."""
        return self._growth.now.changes

    # the ensemble

    @property
    def n_bytes(self) -> int:
        """About how much memory the counts and a complete ensemble take."""
        rows, potential_rows = self.matrix.n_rows, len(self._specs) * self._n_segments
        drawn = max(rows, int(self._ensemble.scores.theta.shape[1]))
        return 16 * rows * self._n_columns + 4 * DRAWS * (drawn + self._n_columns) + 8 * potential_rows

    @property
    def growth(self) -> float:
        """The change of the counts since the draws were made, relative to the change at which new ones are due."""
        return self._growth.relative()

    def urgency(self) -> int:
        """How urgent a refresh is. It is not due if this is negative."""
        level = self._urgency_of_draws()
        if level < 0 and self._has_work:
            level = 0
        self.ask_again()
        if level < 0 and self.template is None:
            room = self._growth.displays + MOST_PENDING - self.matrix.n_pending
            self._not_due_before = min(self._growth.not_due_before(), room)
        return level

    @property
    def may_be_due(self) -> bool:
        """Whether the displays since the last call of `urgency` can have changed its result."""
        return self._growth.displays >= self._not_due_before

    def ask_again(self) -> None:
        """Let `may_be_due` be true after the next display. Any thread may call this."""
        self._not_due_before = -math.inf

    @property
    def _has_work(self) -> bool:
        """Whether a job has work to do even if no draws are due."""
        return self.matrix.n_pending > MOST_PENDING or self.folded != self.matrix.folded

    def _urgency_of_draws(self) -> int:
        """How urgent new draws are. They are not due if this is negative."""
        if not self._asked or not self._specs:
            return -1  # the page needs no draws
        if self.template is not None and self.uses_template and self.template.shared is None:
            return -1  # the template makes its draws first
        needs_rows = not self._source.shares_prior and len(self._specs) > self._ensemble.n_items
        if needs_rows or self._unshown.with_prior.size:
            return ITEMS_ADDED
        if self._ensemble.warming:
            return NO_DRAWS
        return self._growth.level()

    def layouts_changed(self) -> None:
        """Follow a change of the layouts: the planned displays may not fit any more."""
        self._asked.clear()
        self._ensemble = self._ensemble._replace(plans={})
        self._growth.change()

    def rules_changed(self, rules: ItemRules) -> None:
        """Follow a change of values, categories or the limit.

        Plans and leaders do not fit any more. Until the next ensemble, displays of a large page compare all items.
        """
        self.rules = rules
        self._ensemble, self._unshown = self._ensemble.with_rules(rules), self._find_unshown()
        self._growth.change()

    def begin_refresh(self, active: NDArray[np.bool_]) -> "RefreshJob":
        """A job that makes a new ensemble on another thread. `active` are the items that may be shown.

        If no draws are due, the job only applies the pending changes.
        """
        far = self._growth.share > FAR
        asked = list(self._asked.values()) if self._urgency_of_draws() >= 0 else []
        shared = self.template.shared if self.template is not None and self.uses_template else None
        return RefreshJob(self, EnsembleGroups(asked, active, self.rules), self._growth.now, far, self.folded, shared)

    def install(self, ensemble: PageEnsemble | None) -> None:
        """Use a new ensemble from now on."""
        if ensemble is not None:
            self._ensemble = ensemble.with_rules(self.rules)  # they may have changed while the ensemble was made
            self._unshown = self._find_unshown()
            self._growth.drawn_from = ensemble.made_from


class RefreshJob(NamedTuple):
    """Makes an ensemble. Only one job of a page may run at a time."""

    learner: PageLearner
    groups: EnsembleGroups
    made_from: CountsVersion
    far: bool
    folded: Folded
    shared: SharedDraws | None  # if the page uses a template

    def run(self, rng: np.random.Generator) -> PageEnsemble | None:
        """Apply the pending changes and, if the page needs draws, make the draws. Other threads may use the page."""
        learner, matrix, source, params = self.learner, self.learner.matrix, self.learner._source, self.learner._params
        matrix.drop(self.folded)
        with matrix.locked() as counts:
            if not self.groups.asked or not counts.clicks.size:
                return None
            where = learner._where()
            if self.shared is not None:
                given = self.shared.for_columns(learner._columns)
                given = given._replace(kappa=np.ascontiguousarray(given.kappa[:, matrix.columns >= 0]))
                draws = source.draw_given(params, counts, given, rng)
            else:
                memory = _follow(source, learner._memory, learner._memory_of, where)
                if learner._has_features:
                    return self._draw_with_features(counts, where, memory, rng)
                draws, learner._memory = source.draw(params, counts, memory, self.far, rng)
                learner._memory_of = where
        if source.shares_prior:
            load_quantiles(draws.beta)
        plan = None if source.planner is None else partial(source.planner, params)
        ensemble, rules = from_draws(draws, where, self.groups, plan, self.made_from), self.groups.rules
        if source.shares_prior and (rules.values.size or rules.has_limit):  # then the others are not exchangeable
            return ensemble.with_draws_of(self.groups.active, rng)
        return ensemble

    def _draw_with_features(
        self, counts: CountArrays, where: RowsAndColumns, memory: FeatureMemory | None, rng: np.random.Generator
    ) -> PageEnsemble:
        """The features are read after the rows, so they have all items that the rows have."""
        learner, table = self.learner, self.learner._features
        values, scaling = table.values, FeatureScaling(table.columns, table.values)
        far = self.far or (learner._memory_scaling is not None and scaling.is_far_from(learner._memory_scaling))
        features = ItemFeatures(scaling.scaled(values, where.keys // learner._n_segments))
        params = learner._params._replace(features=features)
        draws, learner._memory = learner._source.draw(params, counts, memory, far, rng)
        learner._memory_of, learner._memory_scaling = where, scaling
        draws, where = with_new_items(draws, where, scaling.scaled(values), rng)
        return from_draws(draws, where, self.groups, None, self.made_from, scaling)


def _follow(source: EnsembleSource, memory: Any, before: RowsAndColumns, now: RowsAndColumns) -> Any:
    """The memory with the rows and columns that the count matrix has now."""
    if memory is None or (now.keys is before.keys and now.columns is before.columns):
        return memory
    columns, columns_before = (np.flatnonzero(where.columns >= 0) for where in (now, before))
    return source.select(memory, _indices(now.keys, before.keys), _indices(columns, columns_before))


def _indices(wanted: Ints, known: Ints) -> Ints:
    """The index of each wanted number in the known ones, which are in increasing order, or -1."""
    indices = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[indices] == wanted, indices, -1)


def _thetas_of(displays: Ints, theta: Float32s, rows: Int32s) -> Floats:
    """The thetas of displayed items in each draw, or 0 where there is no item, or none with a row."""
    found = np.zeros(displays.shape)
    draws, positions = np.nonzero((displays != EMPTY) & (displays < rows.size))
    row = rows[displays[draws, positions]]
    draws, positions, row = draws[row >= 0], positions[row >= 0], row[row >= 0]
    found[draws, positions] = theta[draws, row]
    return found


def _prior_counts(specs: Sequence[ItemSpec]) -> Floats:
    """The clicks and skips in the priors of items, as two rows."""
    if all(spec.prior is None for spec in specs):
        return _no_priors(len(specs))
    priors = [(0.0, 0.0) if spec.prior is None else (spec.prior.clicks, spec.prior.views) for spec in specs]
    clicks, views = np.array(priors).T
    return np.array([clicks, views - clicks])


def _no_priors(n_items: int) -> Floats:
    """Like `_prior_counts`, but without memory for the zeros. It cannot be written to."""
    return np.broadcast_to(0.0, (2, n_items))
