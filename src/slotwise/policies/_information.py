"""Information-directed sampling over few candidates: information from an ensemble, and the best mixture of two.

Russo and Van Roy, "Learning to Optimize via Information-Directed Sampling" (2018), in the variance form of section 6.3.
"""

from typing import NamedTuple

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

_LEAST_VARIANCE = 1e-12


class Outlook(NamedTuple):
    """What a display is expected to cost and to tell."""

    regret: float
    information: float


class Mixture(NamedTuple):
    """A mixture of two displays: the probability of the second, and the regret^2 / information of the mixture."""

    chance: float
    ratio: float


@kernel
def information(chances: Floats, labels: Ints, sums: Floats, sizes: Floats) -> float:
    """How much a click or a skip tells about the label.

    `chances[m]` is the click probability in draw m, and `labels[m]` the label of the draw. The information is the
    variance of the chances between labels over that of a click, p(1-p). The means of the labels are themselves
    estimated from few draws, which adds variance; the correction subtracts it, as in the analysis of variance.
    `sums` and `sizes` are work space, with one number for each label.
    """
    draws, total = chances.size, 0.0
    for draw in range(draws):
        total += chances[draw]
    mean = total / draws
    sums[:] = 0.0
    sizes[:] = 0.0
    squares = 0.0
    for draw in range(draws):
        deviation = chances[draw] - mean
        sums[labels[draw]] += deviation
        sizes[labels[draw]] += 1.0
        squares += deviation * deviation
    between, groups = 0.0, 0
    for label in range(sums.size):
        if sizes[label] > 0.0:
            groups += 1
            between += sums[label] * sums[label] / sizes[label]
    if groups < 2 or groups == draws:
        return 0.0
    corrected = between - (groups - 1) * (squares - between) / (draws - groups)
    return max(corrected, 0.0) / draws / max(mean * (1.0 - mean), _LEAST_VARIANCE)


@kernel(inline=True)
def best_mixture(first: Outlook, second: Outlook) -> Mixture:
    """The mixture of two displays whose regret^2 / information is least; the first has the smaller regret.

    With d and g for regret and information, the derivative of (d1 + q (d2 - d1))^2 / (g1 + q (g2 - g1)) is 0 at
    q = d1 / (d2 - d1) - 2 g1 / (g2 - g1).
    """
    extra, gain = second.regret - first.regret, second.information - first.information
    if extra <= 0.0:
        chance = 1.0 if gain > 0.0 else 0.0
    elif gain <= 0.0:
        chance = 0.0
    else:
        chance = min(max(first.regret / extra - 2.0 * first.information / gain, 0.0), 1.0)
    regret, learnt = first.regret + chance * extra, first.information + chance * gain
    return Mixture(chance, regret * regret / learnt if learnt > 0.0 else float("inf"))
