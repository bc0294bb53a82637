"""Kernels that check array bounds call checked copies of other kernels. The index here leaves a view, not its array."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise import counts
from slotwise.bounds_checked_kernels import CheckableKernel, with_checked_kernels
from slotwise.checks import Floats
from slotwise.jit import kernel

UNCHECKED = {"nopython": True, "boundscheck": False}
CHECKED = {"nopython": True, "boundscheck": True}
VIEW, OUTSIDE = np.arange(10.0)[:3], 5


def read(values: Floats, index: int) -> float:
    return float(values[index])


inner: Any = CheckableKernel.create(read, UNCHECKED, None)


def read_inside(values: Floats, index: int) -> float:
    return float(inner(values, index=index))


middle: Any = CheckableKernel.create(read_inside, UNCHECKED, None)


def read_deeper(values: Floats, index: int) -> float:
    return float(middle(values, index))


def test_the_caller_decides_whether_bounds_are_checked_however_deep_the_call() -> None:
    unchecked: Any = CheckableKernel.create(read_deeper, UNCHECKED, None)
    checked: Any = CheckableKernel.create(read_deeper, CHECKED, None)
    assert unchecked(VIEW, OUTSIDE) == OUTSIDE  # the negative control: the value after the view is read
    with pytest.raises(IndexError):
        checked(VIEW, OUTSIDE)
    assert checked(VIEW, 2) == 2
    again: Any = CheckableKernel.create(read_deeper, UNCHECKED, None)
    assert again(VIEW, OUTSIDE) == OUTSIDE


def test_kernels_of_slotwise_do_not_check_and_those_from_outside_do() -> None:
    outside: Any = kernel(read)
    within: Any = counts.add
    assert outside.checked() is outside
    assert within.checked() is not within
    assert within.checked() is within.checked()


def test_the_two_copies_have_separate_caches(tmp_path: Path) -> None:
    for hits in (0, 1):  # the second time, both are loaded
        loaded: Any = CheckableKernel.create(read, UNCHECKED, tmp_path)
        assert loaded(VIEW, OUTSIDE) == OUTSIDE
        with pytest.raises(IndexError):
            loaded.checked()(VIEW, OUTSIDE)
        for copy in (loaded, loaded.checked()):
            assert sum(copy.stats.cache_hits.values()) == hits


def call_through_a_helper(module: str) -> None:
    through_a_module() if module else through_a_name()


def through_a_name(values: Floats = VIEW) -> float:
    return float(inner(values, OUTSIDE))


def through_a_module() -> None:
    few = counts.empty(1, 1)
    counts.shift_many(few, np.array([9]), np.array([9]), np.ones(1), np.ones(1), 1.0)


@pytest.mark.parametrize("module", ["", "counts"])
def test_a_plain_function_can_call_checked_copies(module: str) -> None:
    assert through_a_name() == OUTSIDE
    with pytest.raises(IndexError):
        with_checked_kernels(call_through_a_helper)(module)


def test_only_a_function_becomes_a_kernel() -> None:
    with pytest.raises(TypeError, match="before a function"):
        kernel(inner)
