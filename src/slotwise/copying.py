"""Copies of arrays in kernels."""

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel


@kernel(inline=True)
def copy(source: Floats | Ints, target: Floats | Ints) -> None:
    """Set `target` to `source`, element by element: to compile `target[:] = source` takes numba four seconds."""
    for k in range(target.size):
        target[k] = source[k]
