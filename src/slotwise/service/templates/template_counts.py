"""The counts that a template learns from: those of its pages, one below the other.

Pages in memory give their current counts. The counts of all other pages are read from the store. If a template has very
many pages, those with most displays are used. If a page has very many items, a random sample of its rows is used.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays, empty, restore
from slotwise.service.pages.fading import weight
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import PageCounts, StoredPage

MOST_PAGES = 200
MOST_CELLS = 1_000_000  # rows x columns of all pages: 40 MB, while draws are made
_PRIOR = 0  # the column of the priors of items; they are all at the same visibility

Column = tuple[str, str]  # (layout, position)


class PageBlock(NamedTuple):
    """The counts of one page. Rows without counts are left out."""

    page: str
    number: int
    columns: list[Column]
    clicks: Floats  # rows x (1 + columns): column 0 has the priors of items
    skips: Floats
    displays: float

    def sample(self, most_rows: int) -> "PageBlock":
        """The page with at most this many rows, chosen at random. The same page always gives the same rows."""
        if len(self.clicks) <= most_rows:
            return self
        rows = np.random.default_rng(self.number).choice(len(self.clicks), most_rows, replace=False)
        return self._replace(clicks=self.clicks[rows], skips=self.skips[rows])


class TemplateCounts(NamedTuple):
    """The counts of the pages that a template learns from, and how much all of its pages have counted."""

    blocks: list[PageBlock]
    n_pages: int
    displays: float

    @property
    def columns(self) -> dict[Column, int]:
        """The column of each position in the stacked counts. Pages may have had positions that others did not have."""
        named = dict.fromkeys(column for block in self.blocks for column in block.columns)
        return {column: k for k, column in enumerate(named, 1)}

    @property
    def clicks(self) -> float:
        """How many clicks all pages have, estimated from those that the template learns from."""
        clicks = sum(float(block.clicks[:, _PRIOR + 1 :].sum()) for block in self.blocks)
        displays = sum(block.displays for block in self.blocks)
        return clicks * self.displays / displays if displays > 0.0 else clicks

    @property
    def n_rows(self) -> int:
        return sum(len(block.clicks) for block in self.blocks)

    def limited(self, most_cells: int) -> "TemplateCounts":
        """The same counts without some rows and pages, so that rows x columns is at most this."""
        blocks, cells = list[PageBlock](), 0
        for block in self.blocks:
            width = block.clicks.shape[1]
            rows = (most_cells - cells) // width
            if rows <= 0:
                break
            blocks.append(block.sample(rows))
            cells += len(blocks[-1].clicks) * width
        return self._replace(blocks=blocks)

    def stacked(self) -> CountArrays:
        """The counts of all blocks, with the columns of `columns`."""
        blocks, columns = self.blocks, self.columns
        clicks, skips = np.zeros((2, self.n_rows, 1 + len(columns)))
        first = 0
        for block in blocks:
            rows = np.arange(first, first := first + len(block.clicks))[:, None]
            cells = rows, [_PRIOR, *(columns[column] for column in block.columns)]
            clicks[cells], skips[cells] = block.clicks, block.skips
        arrays = empty(*clicks.shape)
        restore(arrays, clicks, skips, self.displays)
        return arrays


def read_counts(
    ledger: Ledger, template: str, in_memory: Callable[[int], PageBlock | None], now: float
) -> TemplateCounts:
    """The counts of the pages of a template. `in_memory` gives those of a page in memory, by its number."""
    pages = ledger.template_pages(template)
    blocks, cells, total = list[PageBlock](), 0, sum(displays for _, displays in pages)
    for page, displays in pages[:MOST_PAGES]:
        if cells >= MOST_CELLS:
            break
        blocks.append(in_memory(page.number) or _stored_block(ledger, page, displays, now))
        cells += blocks[-1].clicks.size
        total += blocks[-1].displays - displays  # the store knows of the last displays only after their commit
    return TemplateCounts(blocks, len(pages), total).limited(MOST_CELLS)


def page_block(page: StoredPage, columns: list[Column], counts: CountArrays) -> PageBlock:
    """A copy of the counts of a page in memory. They have only these columns, and that of the priors."""
    observed = (counts.item_clicks > 0.0) | counts.skips.any(axis=1)
    clicks, skips = counts.clicks[observed], counts.skips[observed]
    return PageBlock(page.name, page.number, columns, clicks, skips, float(counts.displays[0]))


def _stored_block(ledger: Ledger, page: StoredPage, displays: float, now: float) -> PageBlock:
    """The counts of a page that is not in memory. They have faded since the last epoch that the store knows of."""
    passed, _ = page.body.spec.epochs_since(page.epoch_began, now)
    counts, n_segments = ledger.counts(page.number), len(page.body.segments)
    priors = [(number, spec) for number, (_, spec) in enumerate(ledger.items(page.number)) if spec.prior is not None]
    rows = _row_numbers(counts, priors, n_segments)
    clicks, skips = np.zeros((2, len(rows), 1 + len(page.body.columns)))
    for item, segment, column, clicked, skipped in counts.cells:
        where = rows[item, segment], column + 1
        clicks[where], skips[where] = weight(passed) * clicked, weight(passed) * skipped
    for item, spec in priors:
        assert spec.prior is not None
        for segment in range(n_segments):
            where = rows[item, segment], _PRIOR
            clicks[where], skips[where] = spec.prior.clicks, spec.prior.views - spec.prior.clicks
    return PageBlock(page.name, page.number, page.body.columns, clicks, skips, weight(passed) * displays)


def _row_numbers(
    counts: PageCounts, priors: Sequence[tuple[int, ItemSpec]], n_segments: int
) -> dict[tuple[int, int], int]:
    """The row of each (item, segment) that has counts or a prior."""
    keys = dict.fromkeys((cell.item, cell.segment) for cell in counts.cells)
    keys |= dict.fromkeys((item, segment) for item, _ in priors for segment in range(n_segments))
    return {key: row for row, key in enumerate(keys)}
