"""A logarithm from above, for the price of one division: most decisions need no better."""

from slotwise.jit import kernel


@kernel(inline=True)
def log_bound(a: float, b: float) -> float:
    """An upper bound of log(a / b) for positive a and b, close when they are: Pade approximants."""
    if a > b:
        numerator = (a - b) * (a + 5.0 * b)
        denominator = 2.0 * b * (2.0 * a + b)
    else:
        numerator = 3.0 * (a - b) * (a + b)
        denominator = a * a + 4.0 * a * b + b * b
    return numerator / denominator
