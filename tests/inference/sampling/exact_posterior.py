"""The exact posterior of a small PBM, by integration: the reference for the draws of the samplers.

Write kappa = s (r_1, ..., r_L) with r_m = 1 at the most visible position m, and p_i = theta_i s. The likelihood
depends only on p and r; the uniform prior becomes s^(L-1-N) on max p <= s <= 1. The long ridge
"theta kappa = constant", which a grid over theta and kappa cannot resolve, is thus the axis of s. Given (s, r) the
items are independent, and each p_i is integrated out separately:

    G_i(s, r) = integral over p from 0 to s of  p^(clicks of i)  prod_l (1 - p r_l)^(skips of i at l).

A Beta(a, b) prior of theta is a factor (p_i / s)^(a-1) (1 - p_i / s)^(b-1) under the integral. The first power only
adds to the clicks of i and to the exponent of s. The second is a polynomial in p for every s when b is a whole number,
so the grid of p integrates it as accurately as the rest, even with nodes beyond s. With s = 1, b may be any number.

Every axis is a Gauss-Legendre grid. The axes of r and p are shortened around the mode until they contain all the mass
and little else. With kappa_1 fixed to 1, m = 1 and s = 1; otherwise the posterior is a sum of charts, one for each m.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import logsumexp, xlog1py, xlogy

from slotwise.checks import Floats
from tests.inference.sampling.quadrature import Axis, gauss

NODES = 32  # for each axis, or for each piece of an axis
NEGLIGIBLE = 1e-12  # relative to the highest density: where the axes may end


@dataclass(frozen=True)
class Marginal:
    """The law of one theta or kappa."""

    mean: float
    sd: float
    scaled: float  # its mean after scaling to max kappa = 1
    points: Floats
    below: Floats  # the probability below each point

    def cdf(self, x: Floats) -> Floats:
        return PchipInterpolator(self.points, self.below)(x)

    def quantile(self, level: Floats) -> Floats:
        return np.interp(level, self.below, self.points)


@dataclass(frozen=True)
class Exact:
    """The marginals of every theta and every kappa."""

    theta: list[Marginal]
    kappa: list[Marginal]


def exact(
    clicks: Floats, skips: Floats, free_from: int, n: int = NODES, prior: tuple[float, float] = (1.0, 1.0)
) -> Exact:
    """The posterior given clicks and skips, with kappa_1 = 1 (`free_from` = 1) or with every kappa free (0).


    A priori theta ~ Beta(*prior), both at least 1, and kappa is uniform.
    """
    assert free_from or prior[1] == int(prior[1]), "with every kappa free, b has to be a whole number"
    n_items, n_positions = clicks.shape
    charts = [Chart(clicks, skips, m, bool(free_from), n, *prior) for m in range(1 if free_from else n_positions)]
    highest = max(chart.log_total for chart in charts)
    charts = [chart for chart in charts if chart.log_total > highest + math.log(NEGLIGIBLE)]
    return Exact(
        [_combine(charts, [chart.theta(item) for chart in charts]) for item in range(n_items)],
        [_combine(charts, [chart.kappa(position) for chart in charts]) for position in range(n_positions)],
    )


@dataclass(frozen=True)
class ChartMarginal:
    """The contribution of one chart to the law of one theta or kappa, unnormalised."""

    mass: Floats  # over a grid
    value: Floats
    scaled: Floats
    below: Callable[[Floats], Floats]  # the mass below each point
    spans: list[tuple[float, float]]  # where that mass may rise steeply


def _combine(charts: list["Chart"], marginals: list[ChartMarginal]) -> Marginal:
    """The law of one theta or kappa: the sum over the charts."""
    spans = [(0, 1)] + [span for marginal in marginals for span in marginal.spans]
    points = np.unique(np.clip([np.linspace(low, high, 101) for low, high in spans], 0, 1))
    points = points[np.diff(points, prepend=-1) > 1e-12]
    log_totals = np.array([chart.log_total for chart in charts])
    shares = np.exp(log_totals - logsumexp(log_totals)) / [marginal.mass.sum() for marginal in marginals]
    below = sum(share * marginal.below(points) for share, marginal in zip(shares, marginals, strict=True))
    mass = np.concatenate([share * marginal.mass.ravel() for share, marginal in zip(shares, marginals, strict=True)])
    value = np.concatenate([marginal.value.ravel() for marginal in marginals])
    scaled = np.concatenate([marginal.scaled.ravel() for marginal in marginals])
    mean = np.average(value, weights=mass)
    sd = math.sqrt(np.average((value - mean) ** 2, weights=mass))
    return Marginal(mean, sd, np.average(scaled, weights=mass), points, np.maximum.accumulate(np.clip(below, 0, 1)))


class Chart:
    """The region of the posterior where position m is the most visible one."""

    def __init__(self, clicks: Floats, skips: Floats, m: int, fixed: bool, n: int, a: float, b: float) -> None:
        self.clicks, self.skips, self.m, self.fixed, self.n = clicks, skips, m, fixed, n
        self.more_clicks, self.more_skips = a - 1, b - 1
        self.others = [position for position in range(clicks.shape[1]) if position != m]
        self.r, self.p = self._axes()
        self.s = _axis(1, 1, n) if fixed else self._s_axis()
        self.s_nodes = np.ones(1) if fixed else self.s.nodes
        self._integrate()

    def _integrate(self) -> None:
        """The integrands of G and the mass over all nodes of r (rows) and of s (columns)."""
        r, log_r = self._grid()
        log_h = [self._log_h(item, r, p.nodes) for item, p in enumerate(self.p)]
        peaks = [h.max(axis=1) for h in log_h]  # for each node of r: otherwise the exponentials underflow at the mode
        log_r = log_r + sum(peaks)
        self.h = [_exp(h - peak[:, None]) for h, peak in zip(log_h, peaks, strict=True)]
        g = [np.maximum(h @ self._weights_below(p), 0) for h, p in zip(self.h, self.p, strict=True)]
        outer = _exp(log_r - log_r.max())[:, None] * self._s_prior()
        self.mass = reduce(np.multiply, g, outer)
        # for the law of p_i: the mass before the integration over p_i
        self.without = [reduce(np.multiply, g[:i] + g[i + 1 :], outer) for i in range(len(g))]
        self.log_total = math.log(self.mass.sum()) + log_r.max()

    def _s_prior(self) -> Floats:
        if self.fixed:
            return np.ones(1)
        n_items, n_positions = self.clicks.shape
        return self.s.weights * self.s_nodes ** (n_positions - 1.0 - n_items * (1.0 + self.more_clicks))

    def _weights_below(self, p: Axis) -> Floats:
        """Weights for every node of p (rows) and s (columns) in the integral up to s, times (1 - p / s)^(b-1)."""
        return p.weights_below(self.s_nodes).T * self._tilt(p)

    def _tilt(self, p: Axis) -> Floats:
        if self.fixed:  # s = 1: `_log_h` already contains this power of (1 - p r_m)
            return np.ones((p.nodes.size, 1))
        return (1 - p.nodes[:, None] / self.s_nodes) ** int(self.more_skips)

    def _axes(self) -> tuple[dict[int, Axis], list[Axis]]:
        """The axes of r, shortened until they fit, and the axes of p, which cover the spans of p for all likely r."""
        self.r = {position: _axis(0, 1, self.n) for position in self.others}
        while True:
            r, log_r = self._grid()
            spans = [self._span(item, r) for item in range(len(self.clicks))]
            inner = sum(self._log_g(item, r, *span) for item, span in enumerate(spans))
            likely = log_r + inner > (log_r + inner).max() + math.log(NEGLIGIBLE)
            p = [_axis(low[likely].min(), high[likely].max(), self.n) for low, high in spans]
            before = self.r
            self.r = self._shortened(log_r + inner)
            if all(np.ptp(self.r[k].edges) > 0.8 * np.ptp(before[k].edges) for k in self.others):
                return self.r, p if self.fixed or self.more_clicks + self.more_skips == 0 else [
                    _cut(axis) for axis in p
                ]

    def _shortened(self, log_mass: Floats) -> dict[int, Axis]:
        log_mass = log_mass.reshape([self.n] * len(self.others))
        shortened = {}
        for k, position in enumerate(self.others):
            axis = self.r[position]
            rest = tuple(other for other in range(len(self.others)) if other != k)
            density = logsumexp(log_mass, axis=rest) - np.log(axis.weights)
            inside = np.flatnonzero(density > density.max() + math.log(NEGLIGIBLE))
            points = np.concatenate([axis.edges[:1], axis.nodes, axis.edges[1:]])
            low, high = inside[0] + 1 - 3, inside[-1] + 1 + 3  # margin of 3: on a coarse grid the best node may be off
            shortened[position] = _axis(points[max(low, 0)], points[min(high, self.n + 1)], self.n)
        return shortened

    def _grid(self) -> tuple[Floats, Floats]:
        """All nodes of r, one per row, and the log of their weights times r^clicks."""
        r = np.ones((self.n ** len(self.others), self.clicks.shape[1]))
        log_r = np.zeros(len(r))
        axes = [self.r[position] for position in self.others]
        nodes = np.meshgrid(*(axis.nodes for axis in axes), indexing="ij")
        weights = np.meshgrid(*(axis.weights for axis in axes), indexing="ij")
        for position, node, weight in zip(self.others, nodes, weights, strict=True):
            r[:, position] = node.ravel()
            log_r += xlogy(self.clicks[:, position].sum(), node.ravel()) + np.log(weight.ravel())
        return r, log_r

    def _log_h(self, item: int, r: Floats, p: Floats) -> Floats:
        """Log of the integrand of G_i; p has one row per row of r, or a single row for all."""
        log_h = xlogy(self.clicks[item].sum() + self.more_clicks, p)
        if self.fixed:
            log_h = log_h + xlog1py(self.more_skips, -p)
        for position, skips in enumerate(self.skips[item]):
            log_h = log_h + xlog1py(skips, -r[:, [position]] * p)
        return log_h

    def _log_g(self, item: int, r: Floats, low: Floats, high: Floats) -> Floats:
        nodes, weights = gauss(self.n)
        p = low[:, None] + (high - low)[:, None] / 2 * (1 + nodes)
        return logsumexp(self._log_h(item, r, p), b=weights, axis=1) + np.log((high - low) / 2)

    def _span(self, item: int, r: Floats) -> tuple[Floats, Floats]:
        """For each row of r, the interval where the integrand of G_i, which is log-concave, is not negligible."""
        total, skips = self.clicks[item].sum() + self.more_clicks, self.skips[item].copy()
        skips[self.m] += self.more_skips * self.fixed
        zeros, ones = np.zeros(len(r)), np.ones(len(r))
        mode, _ = _crossing(lambda p: total - p * (skips * r / (1 - p[:, None] * r)).sum(axis=1), zeros, ones)
        least = self._log_h(item, r, mode[:, None])[:, 0] + math.log(NEGLIGIBLE)

        def excess(p: Floats) -> Floats:
            return self._log_h(item, r, p[:, None])[:, 0] - least

        low, _ = _crossing(lambda p: -excess(p), zeros, mode)
        _, high = _crossing(excess, mode, ones)
        return low, high

    def _s_axis(self) -> Axis:
        """The axis of s: it starts where all p_i fit below s, and is cut where each p_i ends, then at factors of 4."""
        start = max(p.edges[0] for p in self.p)
        ends = sorted({p.edges[-1] for p in self.p if p.edges[-1] > start})
        while ends[-1] < 1:
            ends.append(min(1.0, 4 * ends[-1]))
        return Axis(np.array([start, *ends]), self.n)

    def theta(self, item: int) -> ChartMarginal:
        """Theta = p / s."""
        p, s = self.p[item], self.s_nodes
        density = np.einsum("rp,rs->ps", self.h[item], self.without[item]) * self._tilt(p)
        mass = p.weights_below(s).T * density

        def below(points: Floats) -> Floats:
            # integrate exactly along the longer axis: nodes of the other axis would otherwise appear as steps
            if self.fixed or p.ratio**4 >= self.s.ratio:
                return p.below(points[:, None] * s, density).sum(axis=1)
            s_least = p.nodes / np.maximum(points, 1e-100)[:, None]
            over_s = (p.weights[:, None] * density / self.s.weights).T
            return (self.s.weights @ over_s - self.s.below(s_least, over_s)).sum(axis=1)

        (low, high), (s0, s1) = p.edges[[0, -1]], self.s.edges[:2]
        spans = [(low, high), (low / s1, high / max(s0, high))]  # at the two ends of the ridge
        return ChartMarginal(mass, p.nodes[:, None] / s, np.broadcast_to(p.nodes[:, None], mass.shape), below, spans)

    def kappa(self, position: int) -> ChartMarginal:
        """Kappa = s at position m, s r elsewhere."""
        s, (s0, s1) = self.s_nodes, self.s.edges[:2]
        if position == self.m:
            return ChartMarginal(self.mass.sum(axis=0), s, np.ones_like(s), self._s_below, [(s0, s1)])
        r, k = self.r[position], self.others.index(position)
        rest = tuple(other for other in range(len(self.others)) if other != k)
        mass = self.mass.reshape([self.n] * len(self.others) + [s.size]).sum(axis=rest)

        def below(points: Floats) -> Floats:
            if self.fixed or r.ratio**4 >= self.s.ratio:
                return r.below(points[:, None] / s, mass / r.weights[:, None]).sum(axis=1)
            return self.s.below(points[:, None] / r.nodes, (mass / self.s.weights).T).sum(axis=1)

        spans = [tuple(r.edges), (r.edges[0] * s0, r.edges[1] * s1)]
        return ChartMarginal(mass, r.nodes[:, None] * s, np.broadcast_to(r.nodes[:, None], mass.shape), below, spans)

    def _s_below(self, points: Floats) -> Floats:
        if self.fixed:
            return self.mass.sum() * (points >= 1)
        return self.s.below(points[:, None], (self.mass.sum(axis=0) / self.s.weights)[:, None])[:, 0]


def _exp(log: Floats) -> Floats:
    """The exponential, or 0 where it is negligible: arithmetic with subnormal numbers is slow."""
    return np.where(log > 3 * math.log(NEGLIGIBLE), np.exp(log), 0)


def _axis(low: float, high: float, n: int) -> Axis:
    return Axis(np.array([low, high], dtype=np.float64), n)


def _cut(axis: Axis) -> Axis:
    """The axis in pieces, short near 0: a Beta prior divides by powers of s, so small integrals must be accurate."""
    low, high = axis.edges
    cuts = [cut for cut in high / 4.0 ** np.arange(5, 0, -1) if cut > 4 * low]
    return Axis(np.array([low, *cuts, high]), axis.n)


def _crossing(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Points just before and just after each f changes from positive to negative, by bisection of [low, high]."""
    for _ in range(26):
        middle = (low + high) / 2
        positive = f(middle) > 0
        low, high = np.where(positive, middle, low), np.where(positive, high, middle)
    return low, high
