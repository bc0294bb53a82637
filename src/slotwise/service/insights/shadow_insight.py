"""What a page in shadow mode would show, what its clicks determine, and what they cannot determine.

In shadow mode, items never change position. Then every item forms a component of the item-position graph with its
position, and clicks determine only the product of its theta and the kappa of its position.
"""

from collections import Counter
from typing import Any

import numpy as np
from msgspec import Struct

from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.effective_sample_size import ess, tail_ess
from slotwise.inference.sampling.posterior import Posterior
from slotwise.service.insights.display_shares import PositionProbability, learnt_items
from slotwise.service.insights.insight_inputs import InsightInputs
from slotwise.service.insights.interval_estimate import LEVEL, IntervalEstimate, estimate_fields

ONLY_PRODUCTS = "items never change position in shadow mode, so clicks determine only the products of theta and kappa"


class ProductEstimate(IntervalEstimate, kw_only=True):
    """The product of theta and kappa: the probability of a click on an item that visitors see at a position now."""

    segment: str
    item: str
    layout: str
    position: str


class UnlinkedPosition(Struct):
    """A position whose visibility cannot be compared with that of the other positions."""

    layout: str
    position: str


class ShadowInsight(Struct):
    """What the mode `learn` would show, with the probability of each item, and what is known about the default order.

    `separable` says whether the clicks so far separate theta from kappa at all positions. If they do not, `would_show`
    rests on the prior at the `unlinked` positions.
    """

    would_show: list[PositionProbability]
    products: list[ProductEstimate]
    separable: bool
    unlinked: list[UnlinkedPosition]


def shadow_insight(inputs: InsightInputs, counts: Counts, draws: Posterior) -> ShadowInsight:
    """The insight, given draws from the posterior of these counts."""
    unlinked = _unlinked(inputs, counts)
    would_show = learnt_items(inputs, draws.group_displays)
    return ShadowInsight(would_show, _products(inputs, counts, draws), not unlinked, unlinked)


def _unlinked(inputs: InsightInputs, counts: Counts) -> list[UnlinkedPosition]:
    """The positions outside the largest component, or all of them if no two positions are linked."""
    _, labels = components(counts.arrays())
    shown = [
        (layout, position, int(labels[k]))
        for k, (layout, position) in enumerate(inputs.columns, 1)
        if position in inputs.layouts.get(layout, [])
    ]
    sizes = Counter(label for _, _, label in shown)
    largest, size = sizes.most_common(1)[0]
    if len(shown) > 1 and size == 1:
        return [UnlinkedPosition(layout, position) for layout, position, _ in shown]
    return [UnlinkedPosition(layout, position) for layout, position, label in shown if label != largest]


def _products(inputs: InsightInputs, counts: Counts, draws: Posterior) -> list[ProductEstimate]:
    """The products at the positions of the default order, where there are counts."""
    rows = {(segment, item): k for k, (segment, item, _) in enumerate(inputs.rows)}
    columns = {column: k for k, column in enumerate(inputs.columns, 1)}
    found = []
    for segment in inputs.segments:
        for layout, display in inputs.default_displays.items():
            for position, item in display.items():
                row, column = rows[segment, item], columns[layout, position]
                if counts.clicks[row, column] + counts.skips[row, column] > 0.0:
                    fields = _product_fields(draws, row, column)
                    names = {"segment": segment, "item": item, "layout": layout, "position": position}
                    found.append(ProductEstimate(**fields | names))
    return found


def _product_fields(draws: Posterior, row: int, column: int) -> dict[str, Any]:
    by_chain = draws.by_chain[:, :, [row]] * draws.by_chain[:, :, [draws.theta.shape[1] + column]]
    product = draws.theta[:, row] * draws.kappa[:, column]
    interval = np.quantile(product, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    size = float(np.fmin(ess(by_chain), tail_ess(by_chain))[0])
    return estimate_fields(product, interval, size)
