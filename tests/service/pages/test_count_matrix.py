"""A count matrix applies changes in order and exactly once, whichever thread applies them."""

import threading

import msgspec
import numpy as np
import pytest

from slotwise.service.pages import count_matrix
from slotwise.service.pages.count_matrix import PRIOR, CountMatrix
from slotwise.service.pages.fading import weight
from slotwise.service.pages.page_definition import ItemPrior, ItemSpec
from slotwise.service.registers import Counting, EntryChange, Registers
from slotwise.service.store.records import CellCounts, Display, DisplayChange, DisplayEntry, PageCounts
from tests.waiting import HANG

SEGMENTS, COLUMNS = 2, 4  # one of the columns is for the priors


def matrix(*priors: ItemPrior | None) -> CountMatrix:
    """A matrix of items that have been shown, clicked and skipped."""
    cells = [CellCounts(item, 1, 2, 3.0 + item, 8.0) for item in range(len(priors))]
    return CountMatrix(SEGMENTS, COLUMNS, [ItemSpec(prior=prior) for prior in priors], PageCounts(cells, 20.0, 0))


def display(*items: int, segment: int = 0, epoch: int = 0) -> Display:
    entries = [DisplayEntry(f"position{k}", k, item, "learnt") for k, item in enumerate(items)]
    registers = Registers(len(entries), Counting.ISSUED)
    return Display("view", 0, 1, "default", segment, 0.0, 1.0, 1.0, "learnt", epoch, registers, entries)


def test_changes_are_applied_in_order() -> None:
    counts = matrix(ItemPrior(1.0, 5.0), None)
    counts.append_skips(display(1, 0, segment=1))
    counts.append_fading(8)  # a half-life
    counts.append_skips(display(1, 0, segment=1, epoch=8))
    counts.append_items(3)
    counts.append_prior(2, None, ItemPrior(2.0, 2.0))
    counts.append_prior(0, ItemPrior(1.0, 5.0), None)
    counts.append_skips(display(2, epoch=8))
    clicked = DisplayChange(display(1, 0, segment=1), [EntryChange(0, 1, -1)], 0)
    counts.append_changes([clicked], 8)
    assert counts.n_pending == 8
    wanted_clicks, wanted_skips = np.zeros((2, 3 * SEGMENTS, COLUMNS))
    wanted_clicks[[1, 3], 3] = 1.5, 2.0
    wanted_skips[[1, 3], 3] = 4.0
    wanted_skips[3, 1], wanted_skips[1, 2] = 1.5 - 0.5, 1.5
    wanted_clicks[3, 1] = 0.5
    wanted_clicks[4:, PRIOR] = 2.0
    wanted_skips[4, 1] = 1.0
    result = counts.counts()
    np.testing.assert_allclose(result.clicks, wanted_clicks)
    np.testing.assert_allclose(result.skips, wanted_skips)
    assert result.displays == pytest.approx(21.0 * weight(8) + 2.0)
    assert counts.n_pending == 0
    assert counts.counts(range(2)).clicks.shape == (2 * SEGMENTS, COLUMNS)
    assert CellCounts(1, 1, 0, 0.5, 1.0) in counts.cells()
    assert all(cell.column >= 0 for cell in counts.cells())


def test_changes_are_applied_later_if_there_is_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = CountMatrix(SEGMENTS, COLUMNS, [ItemSpec()] * 3, PageCounts([], 0.0, 0), all_rows=False)
    shown = display(2, 1)
    for _ in range(3):
        counts.append_skips(shown)
    counts.append_changes([DisplayChange(shown, [EntryChange(0, 1, -1)], 0)], 0)
    with monkeypatch.context() as patch:
        patch.setattr(count_matrix.np, "zeros", _too_little_memory)
        for _ in range(2):
            with pytest.raises(MemoryError):
                counts.cells()
    wanted = [CellCounts(1, 0, 1, 0.0, 3.0), CellCounts(2, 0, 0, 1.0, 2.0)]
    assert sorted(counts.cells()) == wanted
    assert counts.counts().displays == 3.0


def _too_little_memory(*_: object) -> None:
    raise MemoryError


def test_displays_with_the_same_entries_are_counted_together_and_before_their_clicks() -> None:
    counts = matrix(None, None, None)
    first, other = display(0, 1), display(0, 2)
    equal = [first, msgspec.structs.replace(first), msgspec.structs.replace(first, segment=1), other]
    for shown in equal:
        counts.append_skips(shown)
        counts.append_changes([DisplayChange(shown, [EntryChange(0, 1, -1)], 0)], 0)
    result = counts.counts()
    assert result.clicks[[0, 1], 1].tolist() == [3.0, 1.0]  # item 0 at position 0, in both segments
    assert result.skips[[0, 1], 1].tolist() == [0.0, 0.0]
    assert result.skips[[2, 3, 4], 2].tolist() == [2.0, 1.0, 1.0]
    assert result.displays == 24.0


def test_the_sums_agree_with_the_cells() -> None:
    counts = matrix(None, ItemPrior(1.0, 2.0))
    counts.append_fading(3)
    counts.append_items(4)
    counts.append_skips(display(3, 2))
    with counts.locked() as arrays:
        np.testing.assert_allclose(arrays.item_clicks, arrays.clicks.sum(axis=1))
        np.testing.assert_allclose(arrays.position_clicks, arrays.clicks.sum(axis=0))
        np.testing.assert_array_equal(arrays.skips_by_position, arrays.skips.T)
        assert arrays.clicks[2:4, PRIOR].tolist() == [1.0, 1.0], "priors do not fade"


def test_no_change_is_lost_or_applied_twice_by_concurrent_threads() -> None:
    counts, shown, done = matrix(None, None), display(0, 1), threading.Event()

    def apply() -> None:
        while not done.is_set():
            counts.apply_pending()
            with counts.locked():
                pass

    threads = [threading.Thread(target=apply) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(3_000):
        counts.append_skips(shown)
    done.set()
    for thread in threads:
        thread.join(HANG)
    result = counts.counts()
    assert (result.displays, result.skips[0, 1], result.skips[2, 2]) == (3_020.0, 3_000.0, 3_000.0)


def test_a_change_that_fails_is_applied_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger matrix may not fit into memory. If the change were lost, the new item would have no row."""

    def out_of_memory(*_: object) -> None:
        raise MemoryError

    counts = matrix(None, None)
    counts.append_skips(display(1, 0))
    counts.append_items(3)
    counts.append_skips(display(2))
    with monkeypatch.context() as patch:
        patch.setattr(count_matrix.np, "zeros", out_of_memory)
        with pytest.raises(MemoryError):
            counts.apply_pending()
    counts.apply_pending()
    cells = {(cell.item, cell.segment, cell.column): (cell.clicks, cell.skips) for cell in counts.cells()}
    assert cells == {(0, 1, 2): (3.0, 8.0), (1, 1, 2): (4.0, 8.0)} | {
        (1, 0, 0): (0.0, 1.0),
        (0, 0, 1): (0.0, 1.0),
        (2, 0, 0): (0.0, 1.0),
    }
