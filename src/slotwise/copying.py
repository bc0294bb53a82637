"""Copies of arrays in kernels."""

from typing import Any

from numpy.typing import NDArray

from slotwise.jit import kernel


@kernel(inline=True)
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Set `target` to `source`, element by element. Numba takes four seconds to compile `target[:] = source`."""
    for k in range(target.size):
        target[k] = source[k]
