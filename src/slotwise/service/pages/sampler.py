"""The count matrix of a page, and the policy that samples from it.

Rows of the matrix are (item, segment), and columns are (layout, position). So one sampler serves the whole page:
layouts share thetas, and segments share kappas. Column 0 holds the priors of items. It acts as an extra position of
unknown visibility. It exists only in memory, not in the store.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import Ints
from slotwise.counts import Counts, fade, restore, shift_many
from slotwise.jit import direct
from slotwise.policies._policy_module import find, make_params, serving_params
from slotwise.service.fading import weight
from slotwise.service.pages.kernels import LayoutArrays, SamplerArguments, build_serve, build_warm_up, rng_handle
from slotwise.service.pages.page import ItemPrior, ItemSpec, PageBody
from slotwise.service.store.interface import CellCounts, DisplayChange, PageCounts

WARM_UP_SWEEPS, LEAST_SWEEPS = 200, 20  # sweeps before the first display, because the chain itself is not stored
_CELLS_SWEPT = 10_000_000  # the budget of the warm-up; it blocks the event loop for about 0.1 s
PRIOR = 0  # the column of the priors


class PageSampler:
    """The policy of a page and its state. `start` creates the state. It needs at least one item."""

    def __init__(self, body: PageBody, rng: np.random.Generator) -> None:
        self._rng, self._rng_handle = rng, rng_handle(rng)
        self._policy = find(body.spec.policy)
        self._params = make_params(self._policy, serving_params(self._policy, body.spec.params), None)
        self._n_segments, self._n_columns = len(body.segments), body.n_columns
        self._state: Any = None

    def start(self, specs: Sequence[ItemSpec], counts: PageCounts, layout: LayoutArrays) -> None:
        """Start a new chain on these counts. `layout` is any layout of the page, for a trial call of the kernel."""
        rows, columns = len(specs) * self._n_segments, self._n_columns
        self._state = self._policy.init(self._params, rows, columns, self._rng)
        clicks, skips = np.zeros((rows, columns)), np.zeros((rows, columns))
        for cell in counts.cells:
            where = cell.item * self._n_segments + cell.segment, cell.column + 1
            clicks[where], skips[where] = cell.clicks, cell.skips
        restore(self._state.counts, clicks, skips, counts.displays)
        self._set_priors(specs)
        self._set_arguments(len(specs))
        sweeps = min(WARM_UP_SWEEPS, max(LEAST_SWEEPS, _CELLS_SWEPT // (rows * columns)))
        build_warm_up(self._policy, self._policy.score)(self._arguments, sweeps)
        self._serve = self._compiled_serve(len(specs), layout)

    def serve(self, layout: LayoutArrays, segment: int, allowed: NDArray[np.bool_], pins: Ints, count: bool) -> None:
        """Fill the display of the layout from a sample. If `count` is set, count its skips."""
        self._serve(self._arguments, layout, segment, allowed, pins, count)

    def count_skips(self, layout: LayoutArrays, segment: int) -> None:
        """Count the skips of a display that was not filled by `serve`."""
        columns, display = layout
        filled = display != EMPTY
        rows = display[filled] * self._n_segments + segment
        n = rows.size
        shift_many(self._state.counts, rows, columns[filled], np.zeros(n), np.ones(n), float(n > 0))

    def apply_changes(self, changes: Sequence[DisplayChange], epoch: int) -> None:
        """Apply changes of counts that the store has committed. Their weights are those of this epoch."""
        cells, displays = [], 0.0
        for display, entry_changes, counted in changes:
            faded = weight(epoch - display.epoch)
            displays += faded * counted
            for index, clicks, skips in entry_changes:
                entry = display.entries[index]
                row = entry.item * self._n_segments + display.segment
                cells.append((row, entry.column + 1, faded * clicks, faded * skips))
        if cells or displays:
            rows, columns, clicked, skipped = zip(*cells, strict=True) if cells else ((), (), (), ())
            shift_many(
                self._state.counts,
                np.array(rows, np.int64),
                np.array(columns, np.int64),
                np.array(clicked, np.float64),
                np.array(skipped, np.float64),
                displays,
            )

    def fade(self, epochs: int, specs: Sequence[ItemSpec]) -> None:
        """Lower the weight of all counts as if this many epochs passed. Priors do not fade."""
        fade(self._state.counts, weight(epochs))
        self._set_priors(specs)

    def grow(self, n_items: int) -> None:
        """Add rows for new items. This copies all counts."""
        self._state = self._policy.grow(
            self._params, self._state, n_items * self._n_segments, self._n_columns, self._rng
        )
        self._set_arguments(n_items)

    def change_prior(self, item: int, before: ItemPrior | None, after: ItemPrior | None) -> None:
        (old_clicks, old_views), (new_clicks, new_views) = _prior_counts(before), _prior_counts(after)
        clicks, views = new_clicks - old_clicks, new_views - old_views
        if clicks or views:
            size = self._n_segments
            rows = np.arange(size) + item * size
            changes = np.full(size, clicks), np.full(size, views - clicks)
            shift_many(self._state.counts, rows, np.full(size, PRIOR), *changes, 0.0)

    def counts(self) -> Counts:
        """A copy of all counts, with the priors in column 0."""
        return Counts.of(self._state.counts)

    def cells(self) -> list[CellCounts]:
        """The counts above zero in the store's form, that is, without priors and with the store's column numbers."""
        clicks, skips = self._state.counts.clicks, self._state.counts.skips
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

    def _set_priors(self, specs: Sequence[ItemSpec]) -> None:
        counts = self._state.counts
        clicks, skips = counts.clicks.copy(), counts.skips.copy()
        priors = np.array([_prior_counts(spec.prior) for spec in specs])
        prior_clicks, views = np.repeat(priors, self._n_segments, axis=0).T
        clicks[:, PRIOR], skips[:, PRIOR] = prior_clicks, views - prior_clicks
        restore(counts, clicks, skips, counts.displays[0])

    def _set_arguments(self, n_items: int) -> None:
        theta, kappa = np.empty(n_items * self._n_segments), np.empty(self._n_columns)
        self._arguments = SamplerArguments(self._params, self._state, self._rng_handle, theta, kappa, self._n_segments)

    def _compiled_serve(self, n_items: int, layout: LayoutArrays) -> Callable[..., None]:
        """The kernel of `serve`. One call here compiles it for the types of all later calls."""
        serve = build_serve(self._policy, self._policy.score)
        serve(self._arguments, layout, 0, np.ones(n_items, np.bool_), np.full(layout.display.size, EMPTY), False)
        return direct(serve)


def _prior_counts(prior: ItemPrior | None) -> tuple[float, float]:
    return (0.0, 0.0) if prior is None else (prior.clicks, prior.views)
