"""Do queries with the same positions have the same kappas? A test for all of them together, and one for each query.

The hypothesis is that of a template: every query has its own thetas, and all queries have the same kappas. The tests
are score tests (Rao 1948), which agree with likelihood-ratio tests when clicks are many. They need only the joint fit.
A likelihood ratio also needs a separate fit of each query, whose kappas are 0 where a small query has no clicks.

Let s_q be the derivative of the log-likelihood of query q in log kappa at the joint fit. Let J_q be its variance if the
kappas were known; it takes into account that the thetas are fitted. The derivatives sum to 0. With J = sum J_q, the
variance of s_q at the joint fit is C_q = J_q - J_q J^- J_q: the information of comparing query q with all others. So
s_q^T C_q^- s_q has as many degrees of freedom as C_q has directions. The statistic of all queries, sum s_q^T J_q^- s_q,
has the degrees of freedom of all J_q minus those of J. Directions with the information of only a few clicks are left
out. The variance of each statistic is computed from the fourth cumulants of the clicks of each cell. The statistic is
compared with the gamma law that has its mean and variance. In the limit of many clicks it is the chi-squared law.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.estimation.batch_fit import INTERIOR, Batch
from slotwise.jit import kernel

MIN_INFORMATION = 5.0  # clicks: directions with less information are left out of the test of a query
MIN_COMMON_INFORMATION = 2.0  # the same for the test of all queries, which averages over many
_QUERIES_AT_ONCE = 5_000  # so that the matrices of the queries fit into the memory


class KappaTests(NamedTuple):
    """One entry for each query, or a single one for all queries together. `p_value` is NaN if there was no test."""

    statistic: Floats
    degrees: Floats  # degrees of freedom of the chi-squared law in the limit
    p_value: Floats  # the probability of a statistic at least as large if all queries have the same kappas
    size: Floats  # the root mean squared relative difference of the kappas, without noise


class _Sums(NamedTuple):
    """Derivatives and information of some queries: Q x L and Q x L x L, and their expected clicks."""

    score: Floats
    information: Floats
    weight: Floats


def kappa_tests(joint: Batch, offsets: Ints) -> tuple[KappaTests, KappaTests]:
    """The test of all queries together, and the test of each query against all others.

    `joint` is the maximum-likelihood fit of all rows as a single query. The rows of query q begin at `offsets[q]`.
    """
    common, rows = _Common(_inverse_of_all(joint, offsets)), []
    for part in _parts(offsets):
        rows.append(_test_queries(joint, part, _sums(joint, part), common, offsets.size - 1))
    queries = KappaTests(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))
    return common.test(), queries


def outside_tests(joint: Batch, offsets: Ints, outside: Batch, outside_offsets: Ints) -> KappaTests:
    """Test queries that are not part of the joint fit. `outside` has its kappas, and the thetas that fit them best."""
    inverse_of_all = _inverse_of_all(joint, offsets)
    rows = []
    for part in _parts(outside_offsets):
        score, information, weight = _sums(outside, part)
        inverse, kept = _inverse(information + information @ inverse_of_all @ information, MIN_INFORMATION)
        statistic = np.einsum("qk,qkl,ql->q", score, inverse, score)
        rows.append(_results(statistic, kept, 2.0 * kept + _excess(outside, part, inverse), weight))
    return KappaTests(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def _parts(offsets: Ints) -> list[Ints]:
    starts = range(0, offsets.size - 1, _QUERIES_AT_ONCE)
    return [offsets[start : start + _QUERIES_AT_ONCE + 1] for start in starts]


def _inverse_of_all(joint: Batch, offsets: Ints) -> Floats:
    """J^-, where J is the information of all queries together."""
    total = np.sum([_sums(joint, part).information.sum(axis=0) for part in _parts(offsets)], axis=0)
    inverse, _ = _inverse(total[None], 1e-9 * max(float(np.trace(total)), 1e-300))
    return np.asarray(inverse[0])


class _Common:
    """The sums of the test of all queries together. `inverse` is J^-."""

    def __init__(self, inverse: Floats) -> None:
        self.inverse = inverse
        self.statistic, self.mean, self.variance, self.weight = 0.0, 0.0, 0.0, 0.0
        self.products = np.zeros_like(inverse)

    def add(self, joint: Batch, offsets: Ints, sums: _Sums) -> None:
        """Add some queries to the statistic sum s^T A s, where A is the inverse of J_q, and to its moments."""
        score, information, weight = sums
        inverse, kept = _inverse(information, MIN_COMMON_INFORMATION)
        spread = information @ inverse @ information @ self.inverse  # B_q J^-
        self.statistic += float(np.einsum("qk,qkl,ql->", score, inverse, score))
        self.mean += float(kept.sum() - np.trace(spread, axis1=1, axis2=2).sum())
        own = inverse @ (information - information @ self.inverse @ information)
        self.variance += 2.0 * float(np.einsum("qkl,qlk->", own, own) - np.einsum("qkl,qlk->", spread, spread))
        self.products += spread.sum(axis=0)
        mixed = inverse @ information @ self.inverse
        effect = inverse - mixed - mixed.transpose(0, 2, 1) + self.inverse * (kept > 0)[:, None, None]
        self.variance += float(_excess(joint, offsets, effect).sum())
        self.weight += float(weight[kept > 0].sum())

    def test(self) -> KappaTests:
        variance = self.variance + 2.0 * float(np.einsum("kl,lk->", self.products, self.products))
        values = (self.statistic, self.mean, variance, self.weight)
        return _results(*(np.array([value]) for value in values))


def _test_queries(joint: Batch, offsets: Ints, sums: _Sums, common: _Common, n: int) -> KappaTests:
    """Compare each query with all others, and add it to the common test."""
    common.add(joint, offsets, sums)
    score, information, weight = sums
    taken = information @ common.inverse  # the share of the common kappas that a query determines itself
    inverse, kept = _inverse(information - taken @ information, MIN_INFORMATION)
    left = np.eye(score.shape[1]) - taken
    excess = _excess(joint, offsets, left.transpose(0, 2, 1) @ inverse @ left)
    if n == 2:  # both comparisons are the same, and the cells of both queries matter
        excess = np.full(2, excess.sum())
    statistic = np.einsum("qk,qkl,ql->q", score, inverse, score)
    return _results(statistic, kept, 2.0 * kept + excess, weight)


def _results(statistic: Floats, mean: Floats, variance: Floats, weight: Floats) -> KappaTests:
    from scipy.special import gammaincc  # type: ignore[import-untyped] # takes 14 MB

    tested = mean > 0.5
    mean = np.where(tested, mean, 1.0)
    scale = np.maximum(variance / mean, 2.0)  # no lighter than the tail of a chi-squared law
    tail = gammaincc(mean / scale, np.where(tested, np.maximum(statistic, 0.0), 0.0) / scale)
    size = np.sqrt(np.maximum(statistic - mean, 0.0) / np.where(tested, weight, 1.0))
    return KappaTests(
        np.where(tested, statistic, 0.0),
        np.where(tested, mean, 0.0),
        np.where(tested, tail, np.nan),
        np.where(tested, size, np.nan),
    )


def _inverse(matrices: Floats, least: float) -> tuple[Floats, Floats]:
    """The inverse of each matrix in its directions of eigenvalues of at least `least`, and the number of them."""
    values, vectors = np.linalg.eigh(matrices)
    kept = values >= least
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return (vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1), kept.sum(axis=1).astype(np.float64)


def _sums(joint: Batch, offsets: Ints) -> _Sums:
    n, n_positions = offsets.size - 1, joint.kappa.shape[1]
    sums = _Sums(np.zeros((n, n_positions)), np.zeros((n, n_positions, n_positions)), np.zeros(n))
    _add_rows(joint, offsets, *sums, np.empty(n_positions))
    return sums


def _excess(joint: Batch, offsets: Ints, effect: Floats) -> Floats:
    """How much larger the variance of each z^T `effect` z is than for normal z: from fourth cumulants of clicks."""
    excess = np.zeros(offsets.size - 1)
    _add_excess(joint, offsets, effect, excess, np.empty(effect.shape[1]), np.empty(effect.shape[1]))
    return excess


@kernel(inline=True)
def _weights(joint: Batch, row: int, weights: Floats) -> float:
    """Fill in the information V p / (1 - p) of each cell of a row. Returns its sum, or 0 if the row is left out.

    The item's theta is fitted to its clicks. Given their total, they are as if drawn from its n views without
    replacement, so their variance is n / (n - 1) times as large.
    """
    clicks, skips, theta, kappa = joint.clicks, joint.skips, joint.theta, joint.kappa
    item_state, position_state = joint.item_state, joint.position_state
    total, used = 0.0, 0.0
    for position in range(weights.size):
        weights[position] = 0.0
        chance = theta[row] * kappa[0, position]
        if item_state[row] == INTERIOR and position_state[0, position] == INTERIOR and 0.0 < chance < 1.0:
            views = clicks[row, position] + skips[row, position]
            weights[position] = views * chance / (1.0 - chance)
            total += weights[position]
            used += views
    if used <= 1.0:
        return 0.0
    for position in range(weights.size):
        weights[position] *= used / (used - 1.0)
    return total * used / (used - 1.0)


@kernel
def _add_rows(joint: Batch, offsets: Ints, score: Floats, information: Floats, weight: Floats, weights: Floats) -> None:
    clicks, skips, theta, kappa = joint.clicks, joint.skips, joint.theta, joint.kappa
    for query in range(offsets.size - 1):
        for row in range(offsets[query], offsets[query + 1]):
            total = _weights(joint, row, weights)
            if total == 0.0:
                continue
            weight[query] += total
            for position in range(weights.size):
                if weights[position] == 0.0:
                    continue
                chance = theta[row] * kappa[0, position]
                views = clicks[row, position] + skips[row, position]
                score[query, position] += (clicks[row, position] - views * chance) / (1.0 - chance)
                information[query, position, position] += weights[position]
                for other in range(weights.size):
                    information[query, position, other] -= weights[position] * weights[other] / total


@kernel
def _add_excess(joint: Batch, offsets: Ints, effect: Floats, excess: Floats, weights: Floats, product: Floats) -> None:
    """Each cell adds (g^T M g)^2 times its fourth cumulant, where g is the effect of its clicks on the derivatives."""
    theta, kappa = joint.theta, joint.kappa
    for query in range(offsets.size - 1):
        matrix = effect[query]
        for row in range(offsets[query], offsets[query + 1]):
            total = _weights(joint, row, weights)
            if total == 0.0:
                continue
            whole = 0.0
            for position in range(weights.size):
                product[position] = 0.0
                for other in range(weights.size):
                    product[position] += matrix[position, other] * weights[other] / total
                whole += product[position] * weights[position] / total
            for position in range(weights.size):
                if weights[position] > 0.0:
                    chance = theta[row] * kappa[0, position]
                    square = matrix[position, position] - 2.0 * product[position] + whole
                    cumulant = weights[position] * (1.0 - 6.0 * chance * (1.0 - chance)) / (1.0 - chance) ** 2
                    excess[query] += square * square * cumulant
