"""Information-directed sampling: the expected regret and information of a display, and the best mixture of two.

Russo and Van Roy, "Learning to Optimize via Information-Directed Sampling" (2018), with the variance of section 6.3
instead of the mutual information. Under the PBM, the regret and the information of a display are sums over its cells.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

_LEAST_VARIANCE = 1e-12  # of a click


class Cells(NamedTuple):
    """The expected reward and information of each item at each position. The reward of a click is the item's value.

    The information does not depend on the values, because a click is observed, whatever it is worth.
    """

    reward: Floats  # N x L: the mean click probability, times the value
    information: Floats  # N x L: about the best position of the item, or about the best item of the position


class Outlook(NamedTuple):
    """The expected regret and information of a display."""

    regret: float
    information: float


class Mixture(NamedTuple):
    """A mixture of two displays: how often the second display is shown, and regret^2 / information."""

    chance: float
    ratio: float


@kernel
def cells_of(thetas: Floats, kappas: Floats, best: Ints, values: Floats) -> Cells:
    """The reward and information of every cell. The rows are draws, and `best[m]` is the best display under draw m.

    If `values` is empty, every item has the value 1.
    """
    draws, n_items = thetas.shape
    n_positions = kappas.shape[1]
    cells = Cells(np.zeros((n_items, n_positions)), np.zeros((n_items, n_positions)))
    reward, learnt = cells.reward, cells.information
    best_positions = np.full((n_items, draws), n_positions, np.int64)  # n_positions means not displayed
    best_items, chances = np.empty((n_positions, draws), np.int64), np.empty(draws)
    for position in range(n_positions):
        _number(best[:, position], best_items[position])
        for draw in range(draws):
            best_positions[best[draw, position], draw] = position
    sums, sizes = np.empty(max(draws, n_positions + 1)), np.empty(max(draws, n_positions + 1))
    for item in range(n_items):
        value = values[item] if values.size > 0 else 1.0
        for position in range(n_positions):
            for draw in range(draws):
                chances[draw] = thetas[draw, item] * kappas[draw, position]
                reward[item, position] += value * chances[draw] / draws
            on_position = information(chances, best_positions[item], sums, sizes)
            on_item = information(chances, best_items[position], sums, sizes)
            learnt[item, position] = max(on_position, on_item)
    return cells


@kernel
def _number(values: Ints, labels: Ints) -> None:
    """Number the different values from 0, so that there are no more labels than draws."""
    n_labels = 0
    for draw in range(values.size):
        labels[draw] = -1
        for before in range(draw):
            if values[before] == values[draw]:
                labels[draw] = labels[before]
                break
        if labels[draw] < 0:
            labels[draw] = n_labels
            n_labels += 1


@kernel
def information(chances: Floats, labels: Ints, sums: Floats, sizes: Floats) -> float:
    """How much a click or a skip tells about the label.

    `chances[m]` is the click probability in draw m, and `labels[m]` is the label of the draw. The information is the
    variance of the chances between labels, divided by the variance of a click, p(1-p). The mean of a label comes from
    few draws, and this noise adds to the variance between labels. It is subtracted, as in an analysis of variance.
    `sums` and `sizes` are work space, with a size above every label.
    """
    draws, total = chances.size, 0.0
    for draw in range(draws):
        total += chances[draw]
        sums[labels[draw]] = 0.0
        sizes[labels[draw]] = 0.0
    mean, squares = total / draws, 0.0
    for draw in range(draws):
        deviation = chances[draw] - mean
        sums[labels[draw]] += deviation
        sizes[labels[draw]] += 1.0
        squares += deviation * deviation
    between, groups = 0.0, 0
    for draw in range(draws):
        label = labels[draw]
        if sizes[label] > 0.0:
            groups += 1
            between += sums[label] * sums[label] / sizes[label]
            sizes[label] = 0.0  # added once
    if groups < 2 or groups == draws:
        return 0.0
    corrected = between - (groups - 1) * (squares - between) / (draws - groups)
    return max(corrected, 0.0) / draws / max(mean * (1.0 - mean), _LEAST_VARIANCE)


@kernel(inline=True)
def outlook(cells: Cells, best_reward: float, display: Ints) -> Outlook:
    """The information of a display, and its regret against displays whose expected reward is `best_reward`."""
    reward, learnt = 0.0, 0.0
    for position in range(display.size):
        reward += cells.reward[display[position], position]
        learnt += cells.information[display[position], position]
    return Outlook(max(best_reward - reward, 0.0), learnt)


@kernel(inline=True)
def best_mixture(first: Outlook, second: Outlook) -> Mixture:
    """The mixture of two displays whose regret^2 / information is least.

    With d and g for regret and information, the derivative of (d1 + q (d2 - d1))^2 / (g1 + q (g2 - g1)) in q is 0 at
    q = d1 / (d2 - d1) - 2 g1 / (g2 - g1). If the second display has no more regret than the first, it is always shown.
    """
    extra, gain = second.regret - first.regret, second.information - first.information
    if extra <= 0.0:
        chance = 1.0
    elif gain <= 0.0:
        chance = 0.0
    else:
        chance = min(max(first.regret / extra - 2.0 * first.information / gain, 0.0), 1.0)
    regret, learnt = first.regret + chance * extra, first.information + chance * gain
    return Mixture(chance, regret * regret / learnt if learnt > 0.0 else math.inf)
