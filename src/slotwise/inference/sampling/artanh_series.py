"""Compute logarithms and cube roots of ratios near 1 at the cost of a few divisions.

log(u / v) = 2 artanh(z) = 2 (z + z^3/3 + z^5/5 + ...) with z = (u - v) / (u + v). A Metropolis-Hastings step only needs
to know on which side of log u its log-ratio lies. Three terms and a bound on the remainder nearly always decide this.
If they do not, the step computes the logarithms themselves. So the law of the chain stays the same.
"""

from slotwise.jit import kernel


@kernel(inline=True)
def beyond_first(square: float) -> float:
    """The sum of the second and third term of artanh(z) / z, given z^2."""
    return square * (1.0 / 3.0 + square * 0.2)


@kernel(inline=True)
def remainder(widest: float) -> float:
    """A bound on the sum of the omitted terms of 2 artanh(z) / z for z^2 <= widest < 1, by a geometric series."""
    return 2.0 / 7.0 * widest * widest * widest / (1.0 - widest)


@kernel(inline=True)
def cube_root(r: float) -> float:
    """The cube root of r > 0. From 1/2 to 2, a fraction and a step of Halley's method replace the power."""
    if not 0.5 < r < 2.0:
        return float(r ** (1.0 / 3.0))
    root = (14.0 * r * r + 35.0 * r + 5.0) / (5.0 * r * r + 35.0 * r + 14.0)
    if 0.95 < r < 1.05:  # the fraction's relative error is below 1e-9, and falls with the fifth power of r - 1
        return root
    cube = root * root * root
    return root * (cube + 2.0 * r) / (2.0 * cube + r)
