"""Kernels that several policies share."""

from typing import Any

from slotwise.checks import Floats, Ints
from slotwise.counts import add
from slotwise.jit import kernel


@kernel(inline=True)
def count_display(params: Any, state: Any, display: Ints, clicks: Ints) -> None:
    """The `update` of a policy that learns from its counts alone: count one display and its clicks."""
    add(state.counts, display, clicks)


@kernel(inline=True)
def copy(source: Floats, target: Floats) -> None:
    """Set `target` to `source`, element by element."""
    for k in range(target.size):
        target[k] = source[k]
