"""Copies of arrays in kernels."""

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel


@kernel(inline=True)
def copy(source: Floats | Ints, target: Floats | Ints) -> None:
    """Set `target` to `source`, element by element. Numba takes four seconds to compile `target[:] = source`."""
    for k in range(target.size):
        target[k] = source[k]
