"""Logarithms of ratios near 1, and cube roots of them, for a few divisions.

log(u / v) = 2 artanh(z) = 2 (z + z^3/3 + z^5/5 + ...) with z = (u - v) / (u + v). A Metropolis-Hastings step needs only
to know on which side of log u its log-ratio lies: three terms and a bound of the rest decide nearly always, and where
they do not, the logarithms themselves are taken. The law stays the same.
"""

from slotwise.jit import kernel


@kernel(inline=True)
def beyond_first(square: float) -> float:
    """The second and third term of artanh(z) / z, given z^2."""
    return square * (1.0 / 3.0 + square * 0.2)


@kernel(inline=True)
def remainder(widest: float) -> float:
    """What the left-out terms of 2 artanh(z) / z are at most, for z^2 <= widest < 1: a geometric series."""
    return 2.0 / 7.0 * widest * widest * widest / (1.0 - widest)


@kernel(inline=True)
def cube_root(r: float) -> float:
    """The cube root of r > 0: near 1 a fraction that is right to the fourth order, then Halley's step, cubic."""
    if not 0.5 < r < 2.0:
        return float(r ** (1.0 / 3.0))
    root = (14.0 * r * r + 35.0 * r + 5.0) / (5.0 * r * r + 35.0 * r + 14.0)
    if 0.95 < r < 1.05:  # the fraction's relative error is below 1e-9, and falls with the fifth power of r - 1
        return root
    cube = root * root * root
    return root * (cube + 2.0 * r) / (2.0 * cube + r)
