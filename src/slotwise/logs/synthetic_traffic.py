"""Traffic: the lines of a synthetic log, from simulated visitors with known attractiveness and visibility."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from slotwise.checks import BadInput, Floats, Ints, integer_at_least
from slotwise.clickmodels._click_model import ClickModel
from slotwise.clickmodels.pbm import PBM


class Lines(NamedTuple):
    """Lines of a log. Each array has one entry per line. Queries and items are indices, and positions count from 1."""

    query: Ints
    item: Ints
    position: Ints
    clicked: Ints
    display: Ints | None = None  # the display to which each line belongs, if the log says so


class KnownModel(NamedTuple):
    """The true theta and kappa of a query of the log, with the names of the query and its items."""

    query: str
    items: Sequence[int]
    theta: Floats
    kappa: Floats


class Traffic(Protocol):
    """A source of log lines."""

    def models(self) -> list[KnownModel]:
        """The true theta and kappa of every query."""

    def lines(self, rng: np.random.Generator, batch_size: int) -> Iterator[Lines]:
        """All lines, at most `batch_size` at a time."""

    @property
    def size(self) -> int:
        """The number of lines."""


class ZipfTraffic:
    """Many queries with a few items each. The k-th most frequent query or item is 1/k times as frequent as the first.

    Thetas are Beta(1, 15), about 6 % on average. Kappas fall from 1 to a value between .2 and .6.
    """

    def __init__(self, size: int, queries: int = 100_000, items: int = 20, positions: int = 3, seed: int = 0) -> None:
        self._size = integer_at_least("lines", size, 1)
        n_queries, max_items = integer_at_least("queries", queries, 1), integer_at_least("items", items, 1)
        n_positions = integer_at_least("positions", positions, 1)
        rng = np.random.default_rng([integer_at_least("seed", seed, 0), 1])
        self._query_weight = np.cumsum(1.0 / np.arange(1, n_queries + 1))
        self.items_per_query = rng.integers(min(n_positions, max_items), max_items + 1, n_queries)
        self._first = np.concatenate([[0], np.cumsum(self.items_per_query)])
        self.theta = rng.beta(1.0, 15.0, self._first[-1])
        falling = np.sort(rng.uniform(0.2, 0.6, (n_queries, n_positions)), axis=1)[:, ::-1]
        self.kappa = np.ascontiguousarray(np.concatenate([np.ones((n_queries, 1)), falling[:, 1:]], axis=1))
        # upper positions are shown more often, as on a site whose lists are not always full
        self._position_weight = np.cumsum(1.0 / np.sqrt(np.arange(1, n_positions + 1)))

    @property
    def size(self) -> int:
        return self._size

    def models(self) -> list[KnownModel]:
        """The true theta and kappa of every query."""
        edges = self._first.tolist()
        return [
            KnownModel(str(k), range(begin + 1, end + 1), self.theta[begin:end], kappa)
            for k, (begin, end, kappa) in enumerate(zip(edges[:-1], edges[1:], self.kappa, strict=True), 1)
        ]

    def lines(self, rng: np.random.Generator, batch_size: int) -> Iterator[Lines]:
        """Independent lines: a query, one of its items, a position, and a click or a skip."""
        for begin in range(0, self._size, batch_size):
            n = min(batch_size, self._size - begin)
            query = np.searchsorted(self._query_weight, rng.random(n) * self._query_weight[-1], side="right")
            # P(rank k) = log(1 + 1/k) / log(1 + items)
            rank = ((self.items_per_query[query] + 1.0) ** rng.random(n)).astype(np.int64) - 1
            rank = np.minimum(rank, self.items_per_query[query] - 1)
            position = np.searchsorted(self._position_weight, rng.random(n) * self._position_weight[-1], side="right")
            item = self._first[query] + rank
            clicked = rng.random(n) < self.theta[item] * self.kappa[query, position]
            yield Lines(query + 1, item + 1, position + 1, clicked.astype(np.int64))


class KnownQuery(NamedTuple):
    """A query with its click model. `views` (N x L) is how often each item is shown at each position."""

    query: int
    items: Sequence[int]
    model: PBM
    views: Ints


class ExactTraffic:
    """Lines in random order that show each item exactly as often as the `views` of its query say.

    So it is known in advance which items a threshold such as `min_shown` keeps.
    """

    def __init__(self, queries: Sequence[KnownQuery]) -> None:
        self._queries = queries
        columns: list[list[Ints]] = [[], [], []]
        chances: list[Floats] = []
        for query, items, model, views in queries:
            if np.shape(views) != (len(items), model.kappa.size) or len(items) != model.theta.size:
                raise BadInput(
                    f"query {query}: views has shape {np.shape(views)}; it must be "
                    f"{len(items)} items x {model.kappa.size} positions"
                )
            cell = np.repeat(np.arange(np.size(views)), np.ravel(views))
            item, position = np.divmod(cell, model.kappa.size)
            columns[0].append(np.full(cell.size, query))
            columns[1].append(np.asarray(items)[item])
            columns[2].append(position + 1)
            chances.append(model.theta[item] * model.kappa[position])
        self._query, self._item, self._position = (np.concatenate(column) for column in columns)
        self._chance = np.concatenate(chances)

    @property
    def size(self) -> int:
        return int(self._query.size)

    def models(self) -> list[KnownModel]:
        """The true theta and kappa of every query."""
        return [KnownModel(str(query), items, model.theta, model.kappa) for query, items, model, _ in self._queries]

    def lines(self, rng: np.random.Generator, batch_size: int) -> Iterator[Lines]:
        """Every display once, in random order."""
        order = rng.permutation(self.size)
        for begin in range(0, self.size, batch_size):
            rows = order[begin : begin + batch_size]
            clicked = (rng.random(rows.size) < self._chance[rows]).astype(np.int64)
            yield Lines(self._query[rows], self._item[rows], self._position[rows], clicked)


class SessionTraffic:
    """Whole displays of random items, clicked by the visitors of a click model. The lines say to which display they
    belong."""

    def __init__(self, model: ClickModel, size: int) -> None:
        self._model = model
        self._displays = max(integer_at_least("lines", size, 1) // model.n_positions, 1)

    @property
    def size(self) -> int:
        return self._displays * self._model.n_positions

    def models(self) -> list[KnownModel]:
        """The true theta and kappa, if the click model has them."""
        if not isinstance(self._model, PBM):
            return []
        return [KnownModel("1", range(1, self._model.n_items + 1), self._model.theta, self._model.kappa)]

    def lines(self, rng: np.random.Generator, batch_size: int) -> Iterator[Lines]:
        """Every display with its clicks."""
        n_positions, arrays = self._model.n_positions, self._model.arrays()
        most = max(batch_size // n_positions, 1)
        for begin in range(0, self._displays, most):
            n = min(most, self._displays - begin)
            items = rng.random((n, self._model.n_items)).argsort(axis=1)[:, :n_positions]
            clicks = np.zeros((n, n_positions), np.int64)
            for k in range(n):
                self._model.kernels.click(arrays, items[k], rng, clicks[k])
            display = np.repeat(np.arange(begin + 1, begin + n + 1), n_positions)
            position = np.tile(np.arange(1, n_positions + 1), n)
            yield Lines(np.ones_like(position), items.ravel() + 1, position, clicks.ravel(), display)
