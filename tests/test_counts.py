"""The kernels on counts, compared with a plain dictionary; the redundant sums always agree with clicks and skips."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput
from slotwise.counts import CountArrays, Counts, add, empty, fade, grown, restore, shift_many, skip_to_click

Step = tuple[str, int]
# an operation, and the seed of its random arguments
STEPS = st.lists(st.tuples(st.sampled_from(["add", "move", "fade", "restore", "grow"]), st.integers(0, 2**32)))


class Plain:
    """A straightforward implementation of counts."""

    def __init__(self, n_items: int, n_positions: int) -> None:
        self.n_items, self.n_positions, self.displays = n_items, n_positions, 0.0
        self.clicks: dict[tuple[int, int], float] = defaultdict(float)
        self.skips: dict[tuple[int, int], float] = defaultdict(float)

    def add(self, display: list[int], clicks: list[int]) -> None:
        self.displays += 1
        for position, item in enumerate(display):
            if item != EMPTY:
                (self.clicks if clicks[position] else self.skips)[item, position] += 1

    def skip_to_click(self, item: int, position: int) -> None:
        self.skips[item, position] -= 1
        self.clicks[item, position] += 1

    def fade(self, factor: float) -> None:
        self.displays *= factor
        for counts in (self.clicks, self.skips):
            for cell in counts:
                counts[cell] *= factor

    def matrix(self, counts: dict[tuple[int, int], float]) -> list[list[float]]:
        return [[counts.get((i, k), 0.0) for k in range(self.n_positions)] for i in range(self.n_items)]


def check_sums(counts: CountArrays) -> None:
    assert np.array_equal(counts.skips_by_position, counts.skips.T)
    assert np.array_equal(counts.item_clicks, counts.clicks.sum(axis=1))
    assert np.array_equal(counts.position_clicks, counts.clicks.sum(axis=0))


def random_display(plain: Plain, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """A display with some positions EMPTY; clicks may be set at those positions too."""
    items = np.append(rng.permutation(plain.n_items), [EMPTY] * plain.n_positions)[: plain.n_positions]
    display = np.where(rng.random(plain.n_positions) < 0.3, EMPTY, items)
    return display.tolist(), rng.integers(0, 2, plain.n_positions).tolist()


def take(step: Step, counts: CountArrays, plain: Plain) -> CountArrays:
    """Apply one operation to both; factors are powers of two, so that nothing is rounded."""
    name, number = step
    rng = np.random.default_rng(number)
    if name == "add":
        display, clicks = random_display(plain, rng)
        add(counts, np.array(display), np.array(clicks))
        plain.add(display, clicks)
    elif name == "move":
        movable = [cell for cell, skips in sorted(plain.skips.items()) if skips >= 1]
        if movable:
            item, position = movable[number % len(movable)]
            skip_to_click(counts, item, position)
            plain.skip_to_click(item, position)
    elif name == "fade":
        factor = float(rng.choice([0.25, 0.5, 1.0]))
        fade(counts, factor)
        plain.fade(factor)
    elif name == "restore":
        saved = Counts(plain.matrix(plain.clicks), plain.matrix(plain.skips), plain.displays)
        restore(counts, saved.clicks, saved.skips, saved.displays)
    else:
        plain.n_items += number % 3
        plain.n_positions += number % 2
        counts = grown(counts, plain.n_items, plain.n_positions)
    return counts


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(1, 5), st.integers(1, 4), STEPS)
def test_any_sequence_of_operations_counts_like_a_dictionary(n_items: int, n_positions: int, steps: list[Step]) -> None:
    counts, plain = empty(n_items, n_positions), Plain(n_items, n_positions)
    for step in steps:
        counts = take(step, counts, plain)
        assert counts.clicks.tolist() == plain.matrix(plain.clicks)
        assert counts.skips.tolist() == plain.matrix(plain.skips)
        assert counts.displays.tolist() == [plain.displays]
        check_sums(counts)


def test_an_empty_position_counts_only_the_display() -> None:
    counts = empty(3, 2)
    add(counts, np.array([EMPTY, 1]), np.array([1, 0]))
    assert counts.clicks.sum() == 0
    assert counts.skips.tolist() == [[0, 0], [0, 1], [0, 0]]
    assert counts.displays[0] == 1


def test_grown_does_not_change_its_argument() -> None:
    counts = empty(2, 1)
    larger = grown(counts, 3, 2)
    add(larger, np.array([2, 0]), np.array([1, 0]))
    assert counts.clicks.sum() == counts.skips.sum() == counts.displays[0] == 0


def test_restore_overwrites_what_was_there() -> None:
    counts = Counts([[5, 1], [2, 0]], [[7, 7], [7, 7]], displays=20).arrays()
    restore(counts, np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros((2, 2)), 4.0)
    assert counts.clicks.tolist() == [[1, 0], [0, 2]]
    assert counts.skips.sum() == 0
    assert counts.displays[0] == 4
    check_sums(counts)


def test_counts_convert_to_arrays_and_back() -> None:
    counts = Counts([[3, 0], [1, 2]], [[10, 4], [0, 7.5]], displays=15)
    arrays = counts.arrays()
    check_sums(arrays)
    again = Counts.of(arrays)
    assert again.clicks.tolist() == counts.clicks.tolist()
    assert again.skips.tolist() == counts.skips.tolist()
    assert again.displays == 15
    add(arrays, np.array([0, 1]), np.array([1, 1]))
    assert counts.clicks.tolist() == again.clicks.tolist() == [[3, 0], [1, 2]]


def test_displays_default_to_the_outcomes_at_the_busiest_position() -> None:
    assert Counts([[3, 0], [1, 2]], [[10, 4], [0, 7]]).displays == 14
    assert Counts([[0, 0], [0, 9]], [[1, 4], [0, 7]]).displays == 20


def test_counts_cannot_be_set_after_they_were_checked() -> None:
    counts = Counts([[1]], [[2]])
    with pytest.raises(AttributeError):
        counts.displays = -1.0  # type: ignore[misc]


def test_clicks_and_skips_of_different_shapes_are_refused() -> None:
    with pytest.raises(BadInput, match=r"clicks is \(1, 2\) and skips is \(2, 1\)"):
        Counts([[1, 2]], [[1], [2]])


def test_counts_are_saved_and_read_back(tmp_path: Path) -> None:
    counts = Counts([[1.5, 2], [0, 3]], [[4, 5], [6, 7]], displays=12)
    counts.save(tmp_path / "counts.json")
    again = Counts.load(tmp_path / "counts.json")
    np.testing.assert_array_equal(counts.clicks, again.clicks)
    np.testing.assert_array_equal(counts.skips, again.skips)
    assert again.displays == 12
    (tmp_path / "bad.json").write_text(
        '{"format": "slotwise-counts", "version": 1, "body": {"clicks": [[-1]], "skips": [[1]]}}'
    )
    with pytest.raises(BadInput, match=r"damaged slotwise counts file: clicks\[0\]\[0\] = -1"):
        Counts.load(tmp_path / "bad.json")


def test_shifts_keep_the_sums_and_no_count_falls_below_zero() -> None:
    counts = empty(3, 2)
    items, positions = np.array([0, 2, 2, 0]), np.array([1, 0, 0, 1])
    shift_many(counts, items, positions, np.array([0.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, -1.0, 0.5]), 2.0)
    assert Counts.of(counts).clicks.tolist() == [[0, 0], [0, 0], [1, 0]]
    assert Counts.of(counts).skips.tolist() == [[0, 1.5], [0, 0], [0, 0]]
    assert counts.displays[0] == 2.0
    check_sums(counts)
    shift_many(counts, items[:1], positions[:1], np.array([0.0]), np.array([-1.5 - 1e-12]), -3.0)
    assert counts.skips.sum() == 0.0
    assert counts.displays[0] == 0.0
    check_sums(counts)
