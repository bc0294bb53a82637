"""Integrals of smooth functions along one axis, over its whole length or up to a point, nearly to full precision."""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre

from slotwise.checks import Floats


@dataclass(frozen=True)
class Axis:
    """A Gauss-Legendre grid on each piece between successive edges."""

    edges: Floats
    n: int

    @cached_property
    def nodes(self) -> Floats:
        return (self.edges[:-1, None] + np.diff(self.edges)[:, None] / 2 * (1 + gauss(self.n)[0])).ravel()

    @cached_property
    def weights(self) -> Floats:
        return (np.diff(self.edges)[:, None] / 2 * gauss(self.n)[1]).ravel()

    def below(self, x: Floats, values: Floats) -> Floats:
        """The integral up to x[..., k] of the function whose values at the nodes are values[:, k]."""
        total = np.zeros(x.shape)
        pieces = np.split(values, len(self.edges) - 1)
        for (lower, upper), piece_values in zip(pairwise(self.edges), pieces, strict=True):
            unit = np.clip(2 * (x - lower) / (upper - lower) - 1, -1, 1)
            integral = (upper - lower) / 2 * legendre.legval(unit, _antiderivative(self.n) @ piece_values, tensor=False)
            total += np.where(x > lower, integral, 0)  # exactly 0 below the piece, without rounding errors
        return total

    def weights_below(self, x: Floats) -> Floats:
        """The weights of the nodes in the integral up to each x."""
        return self.below(np.repeat(x[:, None], len(self.nodes), axis=1), np.eye(len(self.nodes)))

    @property
    def ratio(self) -> float:
        """The upper end divided by the lower end."""
        return math.inf if self.edges[0] == 0 else self.edges[-1] / self.edges[0]


@cache
def gauss(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1]."""
    return legendre.leggauss(n)


@cache
def _antiderivative(n: int) -> Floats:
    """The matrix from P_0..P_n at x to the integrals up to x of the Lagrange polynomials of the nodes."""
    nodes, weights = gauss(n)
    fit = legendre.legvander(nodes, n - 1).T * weights * (np.arange(n) + 0.5)[:, None]
    integral = np.zeros((n, n + 1))  # the integral of P_k is (P_(k+1) - P_(k-1)) / (2k+1)
    integral[0, :2] = 1
    for k in range(1, n):
        integral[k, [k - 1, k + 1]] = -1 / (2 * k + 1), 1 / (2 * k + 1)
    return integral.T @ fit
