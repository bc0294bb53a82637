"""Kernels that several policies share. They take arrays only: see `jit.kernel` on the types of arguments."""

from slotwise.checks import Floats
from slotwise.jit import kernel


@kernel(inline=True)
def copy(source: Floats, target: Floats) -> None:
    """Set `target` to `source`, element by element."""
    for k in range(target.size):
        target[k] = source[k]
