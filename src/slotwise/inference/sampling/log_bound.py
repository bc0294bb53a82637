"""An upper bound of the logarithm that costs one division and is precise enough for most decisions."""

from slotwise.jit import kernel


@kernel(inline=True)
def log_bound(a: float, b: float) -> float:
    """An upper bound of log(a / b) for positive a and b, by Pade approximants. It is tight when a is close to b."""
    if a > b:
        numerator = (a - b) * (a + 5.0 * b)
        denominator = 2.0 * b * (2.0 * a + b)
    else:
        numerator = 3.0 * (a - b) * (a + b)
        denominator = a * a + 4.0 * a * b + b * b
    return numerator / denominator
