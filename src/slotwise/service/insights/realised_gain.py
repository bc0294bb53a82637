"""The share of the possible gain that a page already realises, estimated from the posterior.

The possible gain is what the best display earns more than the holdout. Thompson sampling shows the best display of a
draw, and what this display earns under an independent draw is what the page earns now.
"""

import numpy as np

from slotwise.arrange import EMPTY, NO_RULES, arrange_among
from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.posterior import LabelGroup, Posterior
from slotwise.policies._policy_module import find, learns
from slotwise.service.insights.display_shares import DisplayGroup, display_groups, label_group, row_rules
from slotwise.service.insights.insight_inputs import InsightInputs


def realised_gain(inputs: InsightInputs, draws: Posterior) -> float | None:
    """A share from 0 to 1, or None if nothing can be gained or the policy does not learn."""
    if inputs.counts is None or not learns(find(inputs.spec.policy)):
        return None
    active = np.array([spec.is_active(inputs.now) for _, _, spec in inputs.rows])
    theta = draws.theta[:, : active.size] * [spec.value for _, _, spec in inputs.rows]
    views = inputs.counts.clicks + inputs.counts.skips
    gained = possible = 0.0
    for group, best in zip(display_groups(inputs), draws.group_displays, strict=True):
        if group.pins != inputs.pins[group.layout]:
            continue
        labels = label_group(inputs, active, group)
        kappa = draws.kappa[:, labels.positions]
        now, holdout = np.roll(best, len(best) // 2, axis=0), _holdout_displays(inputs, group, labels, len(best))
        displays = float(views[np.ix_(labels.allowed, labels.positions)].sum())  # larger groups weigh more
        baseline = _earned(theta, kappa, holdout)
        gained += displays * (_earned(theta, kappa, now) - baseline)
        possible += displays * (_earned(theta, kappa, best) - baseline)
    return min(max(gained / possible, 0.0), 1.0) if possible > 0.0 else None


def _earned(theta: Floats, kappa: Floats, displays: Ints) -> float:
    """The mean of what display k earns under draw k. Empty positions earn nothing."""
    shown = np.where(displays == EMPTY, 0.0, np.take_along_axis(theta, np.maximum(displays, 0), axis=1))
    return float((shown * kappa).sum(axis=1).mean())


def _holdout_displays(inputs: InsightInputs, group: DisplayGroup, labels: LabelGroup, n: int) -> Ints:
    """Displays as the holdout shows them: in default order, or in random order."""
    rng, in_order = np.random.default_rng(0), -np.arange(float(labels.positions.size))
    rules = row_rules(inputs, labels.allowed.size)._replace(values=NO_RULES.values)
    displays = np.full((n, labels.positions.size), EMPTY)
    if inputs.spec.holdout_order == "default":
        row_of = {item: k for k, (segment, item, _) in enumerate(inputs.rows) if segment == group.segment}
        shown = inputs.default_displays[group.layout]
        displays[:] = [row_of[shown[position]] if position in shown else EMPTY for position in group.positions]
        return displays
    for display in displays:
        arrange_among(rng.random(labels.allowed.size), in_order, labels.allowed, labels.pinned, rules, display)
    return displays
