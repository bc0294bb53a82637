"""Traffic: visitors whose attractiveness and visibility are known, drawn line by line for synthetic logs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from slotwise.checks import BadInput, Floats, Ints, whole
from slotwise.clickmodels.pbm import PBM


class Lines(NamedTuple):
    """Some lines of a log, an entry for each: pages and items by number, positions from 1."""

    page: Ints
    item: Ints
    position: Ints
    clicked: Ints


class Traffic(Protocol):
    """Where lines come from."""

    def lines(self, rng: np.random.Generator, at_once: int) -> Iterator[Lines]:
        """All the lines, at most `at_once` at a time."""

    @property
    def size(self) -> int:
        """How many lines there are."""


class Zipf:
    """Many queries, each with a few ads: the k-th most frequent comes 1/k as often as the first, of both.

    Thetas are Beta(1, 15), some 6 % on average; kappas fall from 1 to between .2 and .6.
    """

    def __init__(self, size: int, pages: int = 100_000, items: int = 20, positions: int = 3, seed: int = 0) -> None:
        self._size = whole("lines", size, 1)
        n_pages, most = whole("pages", pages, 1), whole("items", items, 1)
        n_positions = whole("positions", positions, 1)
        rng = np.random.default_rng([whole("seed", seed, 0), 1])
        self._weight = np.cumsum(1.0 / np.arange(1, n_pages + 1))
        self.counts = rng.integers(min(n_positions, most), most + 1, n_pages)  # of items
        self._first = np.concatenate([[0], np.cumsum(self.counts)])
        self.theta = rng.beta(1.0, 15.0, self._first[-1])
        falling = np.sort(rng.uniform(0.2, 0.6, (n_pages, n_positions)), axis=1)[:, ::-1]
        self.kappa = np.ascontiguousarray(np.concatenate([np.ones((n_pages, 1)), falling[:, 1:]], axis=1))
        # upper positions are shown more often, as where pages are not always full
        self._places = np.cumsum(1.0 / np.sqrt(np.arange(1, n_positions + 1)))

    @property
    def size(self) -> int:
        """How many lines there are."""
        return self._size

    def lines(self, rng: np.random.Generator, at_once: int) -> Iterator[Lines]:
        """Independent lines: a page, one of its items, a position, and a click or none."""
        for begin in range(0, self._size, at_once):
            n = min(at_once, self._size - begin)
            page = np.searchsorted(self._weight, rng.random(n) * self._weight[-1], side="right")
            rank = ((self.counts[page] + 1.0) ** rng.random(n)).astype(np.int64) - 1  # P(rank k) = log(1 + 1/k) / ...
            rank = np.minimum(rank, self.counts[page] - 1)
            position = np.searchsorted(self._places, rng.random(n) * self._places[-1], side="right")
            item = self._first[page] + rank
            clicked = rng.random(n) < self.theta[item] * self.kappa[page, position]
            yield Lines(page + 1, item + 1, position + 1, clicked.astype(np.int64))


class Known(NamedTuple):
    """A page with its click model, and how often each item is shown at each position: `views`, N x L whole numbers."""

    page: int
    items: Sequence[int]
    model: PBM
    views: Ints


class Exact:
    """Pages shown exactly as often as said, in random order: what a filter keeps of them is known beforehand."""

    def __init__(self, pages: Sequence[Known]) -> None:
        columns: list[list[Ints]] = [[], [], []]
        chances: list[Floats] = []
        for page, items, model, views in pages:
            if np.shape(views) != (len(items), model.kappa.size) or len(items) != model.theta.size:
                raise BadInput(f"page {page}: views is {np.shape(views)}, not {len(items)} items x {model.kappa.size}")
            cell = np.repeat(np.arange(np.size(views)), np.ravel(views))
            item, position = np.divmod(cell, model.kappa.size)
            columns[0].append(np.full(cell.size, page))
            columns[1].append(np.asarray(items)[item])
            columns[2].append(position + 1)
            chances.append(model.theta[item] * model.kappa[position])
        self._page, self._item, self._position = (np.concatenate(column) for column in columns)
        self._chance = np.concatenate(chances)

    @property
    def size(self) -> int:
        """How many lines there are."""
        return int(self._page.size)

    def lines(self, rng: np.random.Generator, at_once: int) -> Iterator[Lines]:
        """Every display once."""
        order = rng.permutation(self.size)
        for begin in range(0, self.size, at_once):
            rows = order[begin : begin + at_once]
            clicked = (rng.random(rows.size) < self._chance[rows]).astype(np.int64)
            yield Lines(self._page[rows], self._item[rows], self._position[rows], clicked)
