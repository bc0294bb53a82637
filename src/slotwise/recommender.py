"""`Recommender`: a policy with named items and positions. Each call recommends or learns one display."""

import os
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.arrange import EMPTY, NO_LIMIT, InvalidPin, ItemRules, allowed_items, valid_pins
from slotwise.checks import (
    BadInput,
    Ints,
    format_value,
    integer_at_least,
    one_of,
    string_list,
    string_mapping,
)
from slotwise.clickmodels._click_model import ItemFeatures
from slotwise.counts import Counts, restore, skip_to_click
from slotwise.files import load_document, save_document
from slotwise.inference.estimation.fit import check_level
from slotwise.inference.fit_files import Fits, select_fit
from slotwise.inference.query_fit import QueryFit
from slotwise.inference.sampling.posterior import Labels, Posterior, posterior
from slotwise.inference.sampling.regression.feature_effects import Effect, feature_effects
from slotwise.inference.visibility_rows import visibility_rows
from slotwise.item_features import Feature, feature_columns, feature_matrix, item_features
from slotwise.item_terms import ItemTerms, category_of, value_of
from slotwise.notebook import html_block, html_table, plural
from slotwise.policies._output_checks import check_state_shapes
from slotwise.policies._policy_errors import name_of, reporting
from slotwise.policies._policy_module import (
    can_serve,
    find,
    learns,
    make_params,
    plain_params,
    problem_found,
    serving_params,
)
from slotwise.policies._serve_kernel import serve_kernel
from slotwise.saved_recommender import (
    FORMAT_VERSION,
    SavedRecommender,
    loaded_rng,
    plain_rng,
    plain_state,
    recount,
    refilled_state,
)

SETTLING = 500  # displays drawn and discarded after a fit, because chains start at an arbitrary point
Display = dict[str, str]


class Recommender:
    """Learns which item to show at which position of one page.

    `visibility` is another page, or a fit, with the same positions. The new page starts with what it says about the
    visibility of the positions, and about how attractive items usually are. Its items are never shown. Its counts
    represent at most `visibility_displays` displays; with None, they are not scaled down.

    `values` says what a click on an item is worth, by default 1. A display maximises the expected value of its clicks.
    `categories` gives items a category, and a display has at most `most_per_category` items of one category.

    `features` says what is known of each item, as {item: {feature: number or text}}. Then the policy `slot_ts` learns
    how attractive items with such features are, and a new item starts from what it has learnt (see `feature_ts`).

    >>> page = Recommender(items=["hat", "tie", "bag"], positions=["hero", "side"], seed=7)
    >>> display = page.recommend(pinned={"side": "tie"})
    >>> display["side"]
    'tie'
    >>> page.learn(display, clicked=["hero"])
    >>> page.late_click(display, ["side"])  # this click came later
    >>> page.counts.displays, page.items
    (1.0, ['hat', 'tie', 'bag'])
    >>> page.retire("bag")
    >>> page.save("page.json")
    >>> Recommender.load("page.json").items
    ['hat', 'tie']
    >>> Recommender(items=["pen", "book"], positions=["hero", "side"], visibility=page).items
    ['pen', 'book']
    >>> shop = Recommender(["hat", "cap", "tie"], ["hero", "side"], categories={"hat": "head", "cap": "head"})
    >>> "tie" in shop.recommend(most_per_category=1).values()
    True
    """

    def __init__(
        self,
        items: Iterable[str],
        positions: Iterable[str],
        policy: str | ModuleType = "slot_ts",
        params: Mapping[str, Any] | None = None,
        seed: int | np.random.Generator = 0,
        visibility: "Recommender | QueryFit | None" = None,
        visibility_displays: float | None = None,
        values: Mapping[str, float] | None = None,
        categories: Mapping[str, str | None] | None = None,
        most_per_category: int | None = None,
        features: Mapping[str, Mapping[str, Feature]] | None = None,
    ) -> None:
        self._items = _names("item", items)
        self._positions = _names("position", positions)
        if len(self._positions) > len(self._items):
            raise BadInput(
                f"{len(self._positions)} positions but only {len(self._items)} items: "
                "a display needs at least as many items as positions"
            )
        self._module = find("feature_ts" if features is not None and policy == "slot_ts" else policy)
        if not can_serve(self._module):
            raise BadInput(f"policy {name_of(self._module)} cannot serve: it has no score, grow or counts")
        self._features: dict[str, dict[str, Feature]] = {}
        self._note_features({} if features is None else features)
        self._params = make_params(self._module, serving_params(self._module, params), None)
        self._encode_features()
        self._rng = (
            seed if isinstance(seed, np.random.Generator) else np.random.default_rng(integer_at_least("seed", seed, 0))
        )
        self._active = np.ones(len(self._items), np.bool_)
        self._visibility_rows: dict[str, None] = {}  # a set in the order of the rows
        self._terms = ItemTerms(len(self._items))
        self.most_per_category = most_per_category
        self._state = self._new_state("init", self._params, len(self._items), len(self._positions), self._rng)
        self._serve = reporting(self._module, "score", serve_kernel(self._module))
        self._update = reporting(self._module, "update", self._module.update)
        self._allocate()
        if visibility is not None:
            self._know_visibility(visibility, visibility_displays)
        self._set_terms({} if values is None else values, {} if categories is None else categories)

    @classmethod
    def from_fit(
        cls,
        fit: Fits,
        query: str | None = None,
        items: Iterable[str] | None = None,
        policy: str | ModuleType = "slot_ts",
        params: Mapping[str, Any] | None = None,
        seed: int | np.random.Generator = 0,
        displays: float | None = 100,
    ) -> "Recommender":
        """A page that starts from a fit of a log. `fit` is one fit, or a file or list of fits that contains `query`.

        The page starts with the clicks and skips of the log, scaled down so that they represent at most `displays`
        displays. If `displays` is None, they are not scaled. `items` are the items of the page, by default those of the
        fit. Items that the fit does not know start without counts. Items of the fit that the page does not have are
        retired, but their counts still show how visible the positions are.

        >>> import slotwise as sw
        >>> counts = sw.Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
        >>> fits = sw.fit_queries([sw.Query("hats", ["felt", "straw"], ["top", "side"], counts)])
        >>> page = sw.Recommender.from_fit(fits, query="hats", items=["felt", "straw", "velvet"])
        >>> page.positions, page.counts.displays
        (['top', 'side'], 100.0)
        """
        model = select_fit(fit, query, "query=")
        counts = model.faded(displays)
        page = cls(model.items if items is None else items, model.positions, policy, params, seed)
        removed = [name for name in model.items if name not in page._items]
        if removed:
            page.add(*removed)
            page.retire(*removed)
        page._start_with(model.items, counts)
        return page

    @property
    def items(self) -> list[str]:
        """The items that may be shown, in the order in which they were added."""
        return [name for name, index in self._items.items() if self._active[index]]

    @property
    def retired(self) -> list[str]:
        """The retired items. Their counts are kept."""
        rows = self._items.items()
        return [name for name, index in rows if not self._active[index] and name not in self._visibility_rows]

    @property
    def all_items(self) -> list[str]:
        """The rows of `counts`: all items ever added, including retired ones, and the `visibility_rows`."""
        return list(self._items)

    @property
    def visibility_rows(self) -> list[str]:
        """Rows of `counts` that are no items of this page. They tell how visible its positions are."""
        return list(self._visibility_rows)

    @property
    def positions(self) -> list[str]:
        """The positions, in the order in which they were given."""
        return list(self._positions)

    @property
    def counts(self) -> Counts:
        """A copy of all counts. Rows are `all_items`, and columns are positions."""
        return Counts.of(self._state.counts)

    @property
    def values(self) -> dict[str, float]:
        """What a click on each item is worth."""
        return {name: self._terms.value(self._items[name]) for name in self.items + self.retired}

    @property
    def categories(self) -> dict[str, str]:
        """The category of each item that has one."""
        named = ((name, self._terms.category(self._items[name])) for name in self.items + self.retired)
        return {name: category for name, category in named if category is not None}

    @property
    def most_per_category(self) -> int | None:
        """How many items of one category a display may have. With None, there is no limit."""
        return self._most_per_category

    @most_per_category.setter
    def most_per_category(self, most: int | None) -> None:
        self._most_per_category = None if most is None else integer_at_least("most_per_category", most, 1)
        if hasattr(self, "_state"):
            self._plan_again()

    def set_values(self, values: Mapping[str, float]) -> None:
        """Change what a click on some items is worth. This takes effect at once.

        An item with the value 0 is shown only if a position would stay empty otherwise.
        """
        self._set_terms(values, {})

    def set_categories(self, categories: Mapping[str, str | None]) -> None:
        """Change the categories of some items. None removes an item from its category. This takes effect at once."""
        self._set_terms({}, categories)

    @property
    def features(self) -> dict[str, dict[str, Feature]]:
        """The features of each item that has some."""
        return {name: dict(features) for name, features in self._features.items()}

    def feature_effects(self, level: float = 0.9) -> dict[str, Effect]:
        """How much each feature changes attractiveness: the mean and an interval, which contains it with `level`.

        An effect is a difference of logarithms: with an effect of 0.7, items with the feature are about twice as
        attractive. For a number, it is the effect of one standard deviation. The column of a category is called
        `feature=value`.
        """
        columns = feature_columns(list(self._items), self._features)
        matrix = feature_matrix(self._items, self._features)
        return dict(zip(columns, feature_effects(self.counts, matrix, check_level(level)), strict=True))

    def set_features(self, features: Mapping[str, Mapping[str, Feature]]) -> None:
        """Replace the features of some items. This takes effect at once."""
        before = self._features
        self._note_features(features)
        try:
            self._encode_features()
        except BadInput:
            self._features = before
            raise
        sizes = len(self._items), len(self._positions)
        self._state = self._new_state("grow", self._params, self._state, *sizes, self._rng)

    def recommend(
        self,
        eligible: Iterable[str] | None = None,
        excluded: Iterable[str] = (),
        pinned: Mapping[str, str] | None = None,
        most_per_category: int | None = None,
    ) -> Display:
        """The display to show now, as {position: item}.

        An item is shown only if it is `eligible` and not `excluded`. By default, all items are eligible. `pinned` maps
        positions to items that are shown there even if they are not eligible. A pin of an excluded item is ignored. If
        there are fewer items than positions, the display does not contain the least visible positions.

        `most_per_category` replaces the limit of the page for this display. Pinned items count, and may exceed it.
        """
        eligible_items = None if eligible is None else [self._item(name) for name in string_list("eligible", eligible)]
        requested_pins = {}
        if pinned is not None:
            requested_pins = {
                self._position(where): self._item(name) for where, name in string_mapping("pinned", pinned).items()
            }
        excluded_items = [self._item(name) for name in string_list("excluded", excluded)]
        allowed = allowed_items(self._active, eligible_items, excluded_items)
        pins = self._pins(requested_pins, excluded_items) if requested_pins else self._no_pins
        rules = self._rules(most_per_category)
        self._serve(self._params, self._state, self._rng, self._theta, self._kappa, allowed, pins, rules, self._display)
        shown = self._display.tolist()
        return {position: self._item_names[shown[k]] for position, k in self._positions.items() if shown[k] != EMPTY}

    def learn(self, display: Mapping[str, str], clicked: Iterable[str] = ()) -> None:
        """Count a display and the positions that were clicked. All other positions count as skipped.

        A display without items is not counted.
        """
        shown = self._read(display)
        clicks = np.zeros(len(self._positions), np.int64)
        for position in string_list("clicked", clicked):
            clicks[self._shown_position(display, position)] = 1
        if display:
            self._update(self._params, self._state, shown, clicks)

    def late_click(self, display: Mapping[str, str], clicked: Iterable[str]) -> None:
        """Count clicks that came after `learn`. Each late click turns one skip into a click."""
        shown = self._read(display)
        late = {self._shown_position(display, position) for position in string_list("clicked", clicked)}
        for k in late:
            if self._state.counts.skips[shown[k], k] < 1.0:
                position, item = list(self._positions)[k], self._item_names[shown[k]]
                raise BadInput(f"no skip of {item!r} at {position!r} is left that a late click could replace")
        for k in late:
            skip_to_click(self._state.counts, int(shown[k]), k)

    def add(self, *items: str, features: Mapping[str, Mapping[str, Feature]] | None = None) -> None:
        """Add items, or bring retired items back with their counts. This takes effect at once.

        `features` are those of the added items.
        """
        added = _names("item", items)
        for name in added:
            if name in self._items and self._active[self._items[name]]:
                raise BadInput(f"item {name!r} is already on the page")
            if name in self._visibility_rows:
                raise BadInput(f"{name!r} is a row that only tells visibility; give the item another name")
        new = [name for name in added if name not in self._items]
        if features is not None:
            before = self._features
            given = string_mapping("features", features)
            self._note_features({one_of("item", name, added): given[name] for name in given})
            try:
                self._encode_features([*self._items, *new])
            except BadInput:
                self._features = before
                raise
        if new or features is not None:  # this comes first, because a policy from outside may fail
            size = len(self._items) + len(new)
            self._state = self._new_state("grow", self._params, self._state, size, len(self._positions), self._rng)
            self._active = np.concatenate([self._active, np.ones(len(new), np.bool_)])
            self._terms.grow(size)
        for name in added:
            if name in self._items:
                self._active[self._items[name]] = True
        for name in new:
            self._items[name] = len(self._items)
        self._allocate()

    def retire(self, *items: str) -> None:
        """Stop showing these items. Their counts are kept."""
        indices = [self._item(name) for name in items]
        self._active[indices] = False

    @property
    def theta(self) -> dict[str, float]:
        """The posterior mean attractiveness of each item. The most visible position has visibility 1."""
        means = self.posterior().theta.mean(axis=0)
        rows = self._items.items()
        return {name: float(means[index]) for name, index in rows if name not in self._visibility_rows}

    @property
    def kappa(self) -> dict[str, float]:
        """The posterior mean visibility of each position. In every draw, the most visible position has visibility 1."""
        means = self.posterior().kappa.mean(axis=0)
        return {name: float(means[index]) for name, index in self._positions.items()}

    def posterior(
        self,
        draws: int = 1000,
        prior: str | tuple[float, float] = "uniform",
        reference: str = "none",
        ess: float | None = None,
        budget: int | None = None,
    ) -> Posterior:
        """Posterior draws, as from `slotwise.posterior`. There is a column for each of `all_items`.

        The best displays use the items that are not retired. The same counts always give the same draws.
        """
        return posterior(self.counts, draws, prior, reference, ess, budget, labels=self.labels())

    def __repr__(self) -> str:
        retired = f" ({len(self.retired):,} retired)" if self.retired else ""
        n_items = len(self._items) - len(self._visibility_rows)
        sizes = f"{plural(n_items, 'item')}{retired}, {plural(len(self._positions), 'position')}"
        learnt = plural(self._state.counts.displays[0], "display")
        return f"Recommender({name_of(self._module)}: {sizes}, learnt from {learnt})"

    def _repr_html_(self) -> str:
        counts = self.counts
        shown, clicks = (counts.clicks + counts.skips).sum(axis=1), counts.clicks.sum(axis=1)
        rows = [
            [name + ("" if self._active[k] else " (retired)"), f"{shown[k]:,.0f}", f"{clicks[k]:,.0f}"]
            for name, k in sorted(self._items.items(), key=lambda pair: -shown[pair[1]])
            if name not in self._visibility_rows
        ]
        table = html_table(["item", "shown", "clicks"], rows)
        return html_block(repr(self), table, notes=[f"positions: {', '.join(self._positions)}"])

    def labels(self) -> Labels:
        """The names of the rows and columns of `counts`, and which items may be shown."""
        return Labels(list(self._items), list(self._positions), self._active.copy(), rules=self._rules(None))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything as versioned JSON. A loaded copy continues with exactly the same displays."""
        body = SavedRecommender(
            policy=self._module.__name__,
            policy_file=getattr(self._module, "__file__", None) or "",
            params=plain_params(self._module, self._params),
            items=list(self._items),
            retired=self.retired + self.visibility_rows,  # older versions do not know the field `visibility_rows`
            visibility_rows=self.visibility_rows,
            positions=list(self._positions),
            state=plain_state(self._state),
            rng=plain_rng(self._rng),
            values={name: value for name, value in self.values.items() if value != 1.0},
            categories=self.categories,
            most_per_category=self.most_per_category,
            features=self._features,
        )
        save_document(path, "recommender", FORMAT_VERSION, body)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: ModuleType | None = None) -> "Recommender":
        """Load what `save` wrote. If the policy comes from outside slotwise, pass its module as `policy`."""
        saved = load_document(path, "recommender", FORMAT_VERSION, SavedRecommender)
        damaged = f"{str(path)!r} is a damaged slotwise recommender"
        package, _, name = saved.policy.rpartition(".")
        if policy is None and package != "slotwise.policies":
            raise BadInput(f"{str(path)!r} was saved with the policy module {saved.policy!r}; pass it as policy=")
        try:
            known = saved.features or None
            page = cls(
                saved.items, saved.positions, policy or name, saved.params, loaded_rng(saved.rng), features=known
            )
            page.most_per_category = saved.most_per_category
            page._set_terms(saved.values, saved.categories)
            page._state = refilled_state(page._state, saved.state)
            recount(page._state.counts)
            problem = problem_found(page._module, "check_state", page._state)
            if problem:
                raise BadInput(problem)
            page.retire(*saved.retired)
            page._hide(saved.visibility_rows)
            page._rng = loaded_rng(saved.rng)
        except (BadInput, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise BadInput(f"{damaged}: {error}") from None
        return page

    def _new_state(self, function: str, *arguments: Any) -> Any:
        """The state that the policy's `init` or `grow` returns."""
        state = reporting(self._module, function, getattr(self._module, function))(*arguments)
        check_state_shapes(self._module, function, state, arguments[-3], arguments[-2])
        return state

    def _know_visibility(self, source: "Recommender | QueryFit", displays: float | None) -> None:
        """Add the counts of another page as rows that are never shown."""
        if not isinstance(source, Recommender | QueryFit):
            raise BadInput(f"visibility = {format_value(source)} is not a Recommender or a QueryFit")
        items = source.all_items if isinstance(source, Recommender) else source.items
        names, counts = visibility_rows(
            items, source.positions, source.counts, displays, self._items, list(self._positions)
        )
        if names:
            self.add(*names)
            self._hide(names)
            self._start_with(names, counts)

    def _hide(self, rows: Iterable[str]) -> None:
        """Make rows tell visibility only: they are no items any more."""
        for name in rows:
            self._active[self._items[name]] = False
            self._visibility_rows[name] = None

    def _start_with(self, names: Iterable[str], counts: Counts) -> None:
        """Start with counts of these rows. Then sample until the chain has left its arbitrary first point."""
        clicks, skips = np.zeros((2, len(self._items), len(self._positions)))
        rows = [self._items[name] for name in names]
        clicks[rows], skips[rows] = counts.clicks, counts.skips
        restore(self._state.counts, clicks, skips, counts.displays)
        for _ in range(SETTLING):
            self.recommend()

    def _set_terms(self, values: Mapping[str, float], categories: Mapping[str, str | None]) -> None:
        """Change values and categories of items. All are checked before one of them changes."""
        new_values = {
            self._item(name): value_of(name, value) for name, value in string_mapping("values", values).items()
        }
        new_categories = {
            self._item(name): category_of(name, category)
            for name, category in string_mapping("categories", categories).items()
        }
        if self._terms.change(new_values, new_categories):
            self._plan_again()

    def _note_features(self, features: Mapping[str, Mapping[str, Feature]]) -> None:
        """Remember the features of some items. Unknown items are reported when they are encoded."""
        checked = {name: item_features(name, given) for name, given in string_mapping("features", features).items()}
        if checked and "features" not in self._module.Params._fields:
            raise BadInput(f"policy {name_of(self._module)} does not use features; choose feature_ts")
        self._features = self._features | checked

    def _encode_features(self, rows: Iterable[str] | None = None) -> None:
        """Give the policy the matrix of the features. `rows` are the items of its state, by default those there are."""
        names = list(self._items if rows is None else rows)
        for name in self._features:
            one_of("item", name, names)
        if "features" in self._module.Params._fields:
            matrix = feature_matrix(names, self._features)
            self._params = self._params._replace(features=ItemFeatures(matrix))

    def _plan_again(self) -> None:
        """Make a policy that plans its displays forget the plan, because the rules have changed."""
        if hasattr(self._module, "score_values"):
            sizes = len(self._items), len(self._positions)
            self._state = self._new_state("grow", self._params, self._state, *sizes, self._rng)

    def _rules(self, most_per_category: int | None) -> ItemRules:
        """The rules of one display. A policy that does not learn ignores the values: it shows items at random."""
        most = self._most_per_category
        if most_per_category is not None:
            most = integer_at_least("most_per_category", most_per_category, 1)
        return self._terms.rules(NO_LIMIT if most is None else most, valued=learns(self._module))

    def _allocate(self) -> None:
        self._theta, self._kappa = np.empty(len(self._items)), np.empty(len(self._positions))
        self._display = np.empty(len(self._positions), np.int64)
        self._no_pins = np.full(len(self._positions), EMPTY, np.int64)
        self._item_names = list(self._items)

    def _item(self, name: str) -> int:
        known = isinstance(name, str) and name not in self._visibility_rows
        index = self._items.get(name) if known else None
        return self._items[one_of("item", name, self.items + self.retired)] if index is None else index

    def _position(self, name: str) -> int:
        index = self._positions.get(name)
        return self._positions[one_of("position", name, self._positions)] if index is None else index

    def _shown_position(self, display: Mapping[str, str], position: str) -> int:
        k = self._position(position)
        if position not in display:
            raise BadInput(f"position {position!r} was clicked, but the display shows nothing there")
        return k

    def _read(self, display: Mapping[str, str]) -> Ints:
        """Validate a display of names, and convert it to a display of indices."""
        if not isinstance(display, Mapping):
            raise BadInput(f"display = {display!r} is not a mapping of positions to items")
        shown = self._no_pins.copy()
        for position, name in display.items():
            shown[self._position(position)] = self._item(name)
        if len(set(display.values())) < len(display):
            raise BadInput(f"display = {dict(display)!r} shows an item twice")
        return shown

    def _pins(self, requested: Mapping[int, int], excluded: list[int]) -> Ints:
        """The item pinned at each position, or EMPTY."""
        try:
            valid = valid_pins(requested, self._active, excluded)
        except InvalidPin as error:
            reason = "is pinned at two positions" if error.twice else "is retired and cannot be pinned"
            raise BadInput(f"item {self._item_names[error.item]!r} {reason}") from None
        pins = self._no_pins.copy()
        for position, item in valid.items():
            pins[position] = item
        return pins


def _names(what: str, values: Iterable[str]) -> dict[str, int]:
    """The names and their indices, in the given order."""
    listed = string_list(f"{what}s", values)
    if "" in listed:
        raise BadInput(f"{what} '' is not a name; a text of at least one character is needed")
    indices = {name: index for index, name in enumerate(dict.fromkeys(listed))}
    if len(indices) < len(listed):
        repeated = next(name for name in listed if listed.count(name) > 1)
        raise BadInput(f"{what} {repeated!r} is given twice")
    if not indices:
        raise BadInput(f"no {what}s given; at least one is needed")
    return indices
