"""Connected components: labels compared with scipy's, for counts and after removing thetas and kappas of 0."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from slotwise.checks import Ints
from slotwise.counts import Counts
from slotwise.inference.components import components, label_components
from slotwise.inference.estimation.fit import fit

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
CELLS = st.sampled_from([0.0, 0.0, 0.0, 1.0, 3.0])


def by_scipy(linked: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """A component is labelled by its first position; an item without a link has the label -1."""
    n_items, n_positions = linked.shape
    graph = np.block([[np.zeros((n_items, n_items)), linked], [linked.T, np.zeros((n_positions, n_positions))]])
    _, labels = connected_components(graph, directed=False)
    first = [int(np.flatnonzero(labels[n_items:] == label)[0]) for label in labels[n_items:]]
    members = [np.flatnonzero(labels[n_items:] == label) for label in labels[:n_items]]
    return [int(positions[0]) if positions.size else -1 for positions in members], first


def as_lists(labels: tuple[Ints, Ints]) -> tuple[list[int], list[int]]:
    return labels[0].tolist(), labels[1].tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SHAPES, st.data())
def test_counts_link_items_and_positions(shape: tuple[int, int], data: st.DataObject) -> None:
    clicks, skips = (data.draw(arrays(np.float64, shape, elements=CELLS)) for _ in range(2))
    counts = Counts(clicks, skips)
    assert as_lists(components(counts.arrays())) == by_scipy(clicks + skips > 0)
    assert as_lists(fit(counts).components) == by_scipy(clicks + skips > 0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SHAPES, st.data())
def test_items_and_positions_at_0_link_nothing(shape: tuple[int, int], data: st.DataObject) -> None:
    clicks, skips = (data.draw(arrays(np.float64, shape, elements=CELLS)) for _ in range(2))
    theta, kappa = (data.draw(arrays(np.float64, size, elements=st.sampled_from([0.0, 0.5]))) for size in shape)
    items, positions = np.empty(shape[0], np.int64), np.empty(shape[1], np.int64)
    count = label_components(clicks, skips, theta, kappa, items, positions)
    expected = by_scipy((clicks + skips > 0) & np.outer(theta > 0, kappa > 0))
    assert as_lists((items, positions)) == expected
    assert count == len({label for label, value in zip(expected[1], kappa, strict=True) if value > 0})


def test_a_label_crosses_the_longest_chain() -> None:
    """Item k links positions k and k + 1, in the order in which a label travels one position per pass."""
    chain = (np.eye(9, 10) + np.eye(9, 10, k=1))[::-1].copy()
    items, positions = components(Counts(chain, np.zeros_like(chain)).arrays())
    assert set(items.tolist()) == set(positions.tolist()) == {0}
