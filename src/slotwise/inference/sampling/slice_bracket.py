"""The bracket of a slice step: the interval that the next proposal is drawn from."""

from slotwise.jit import kernel


@kernel(inline=True)
def shrink(low: float, high: float, rejected: float, current: float) -> tuple[float, float]:
    """Cut the bracket off at the rejected proposal. The current value stays inside (Neal 2003, figure 5)."""
    return (rejected, high) if rejected < current else (low, rejected)
