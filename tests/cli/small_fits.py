"""Fits of a few small queries."""

import numpy as np

import slotwise as sw


def small_fits(how_many: int = 2, name: str = "query", method: str = "em") -> list[sw.QueryFit]:
    """Each query has more displays than the previous one; the first has few clicks."""
    queries = []
    for k in range(how_many):
        views = 20 + 1000 * k
        clicks = np.round(views * np.outer([0.4, 0.2, 0.3, 0.1], [1.0, 0.5, 0.25, 0.125])).astype(int)
        items = [f"{name} {k} item {j}" for j in range(4)]
        queries.append(sw.Query(f"{name} {k}", items, ["a", "b", "c", "d"], sw.Counts(clicks, views - clicks)))
    return sw.fit_queries(queries, method)
