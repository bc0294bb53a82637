"""Find the theta and kappa of largest posterior density by a few EM passes and then Newton's method.

EM gets near the maximum quickly and then converges slowly. In a = log theta and b = log kappa, the log-likelihood

    sum_il S_il (a_i + b_l) + F_il log(1 - exp(a_i + b_l))

is concave. Its Hessian is diagonal except for the block between items and positions, so a Newton step takes O(N L^2)
time.
"""

import math

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.estimation.curvature import Objective, Workspace, derivatives, factorise
from slotwise.inference.estimation.em import em_pass
from slotwise.jit import kernel

EM_PASSES = 3  # before Newton's method, and again after each Newton step without a gain
NEWTON_STEPS = 100
HALVINGS = 40
TOLERANCE = 1e-10  # nats: the iteration stops when the predicted gain of a Newton step is below this
ROUNDING = 1e-15  # nats per click and skip: a smaller gain is lost in rounding
_FLAT_STEP = 2.0  # length of a step, in logs, along a direction with a gradient but no curvature
_LONGEST_STEP = 10.0  # of any theta or kappa, in logs
_NEAR_ONE = 0.01  # a value within this distance of 1 whose step would cross 1 is moved to 1
_BOUND_PASSES = 4  # passes to find the values that have to stop at 1
_MARGIN = 1e-12  # with a prior, the least distance of theta and kappa from 1


@kernel
def initialise(counts: CountArrays, prior: float, theta: Floats, kappa: Floats) -> None:
    """Set the initial values: kappa from the click rates of positions, then theta given kappa.

    Without a prior, a value without clicks is 0. The scale is divided between theta and kappa so that their largest
    values are equal and below 1, because EM cannot move a value that is 1.
    """
    clicks, skips = counts.clicks, counts.skips
    item_clicks, position_clicks = counts.item_clicks, counts.position_clicks
    best, top = 0.0, 0.0
    for position in range(kappa.size):
        skipped = 0.0
        for item in range(theta.size):
            skipped += skips[item, position]
        kappa[position] = _rate(position_clicks[position], position_clicks[position] + skipped, prior)
        top = max(top, kappa[position])
    for item in range(theta.size):
        examinations = 0.0
        for position in range(kappa.size):
            examinations += (clicks[item, position] + skips[item, position]) * kappa[position]
        theta[item] = _rate(item_clicks[item], examinations / top, prior) if top > 0.0 else 0.0
        best = max(best, theta[item])
    if best > 0.0:
        share = math.sqrt(best)
        for item in range(theta.size):
            theta[item] /= share
        for position in range(kappa.size):
            kappa[position] *= share / top


@kernel(inline=True)
def _rate(clicks: float, examinations: float, prior: float) -> float:
    return 0.0 if prior == 0.0 and clicks == 0.0 else min((clicks + 0.5) / (examinations + 1.0), 0.99)


@kernel
def maximise(objective: Objective, theta: Floats, kappa: Floats, work: Workspace) -> tuple[int, bool]:
    """Move (theta, kappa) from their initial values to the maximum. The objective never decreases.

    Returns the number of EM passes and Newton steps, and whether they converged. Values that start at 0 stay at 0.
    """
    counts, prior = objective.counts, objective.prior
    examinations, passes, gain, tolerance = work.examinations, 0, 0.0, _tolerance(counts)
    for _ in range(NEWTON_STEPS):
        if gain <= 0.0:
            for _ in range(EM_PASSES):
                em_pass(counts, prior, theta, kappa, examinations)
            passes += EM_PASSES
            if prior > 0.0:  # a value can round to 1, where the prior's density is 0
                for item in range(theta.size):
                    theta[item] = min(theta[item], 1.0 - _MARGIN)
                for position in range(kappa.size):
                    kappa[position] = min(kappa[position], 1.0 - _MARGIN)
        predicted, gain = newton_step(objective, theta, kappa, work)
        passes += 1
        if predicted < tolerance:
            return passes, True
    return passes, False


@kernel(inline=True)
def _tolerance(counts: CountArrays) -> float:
    clicks, skips = counts.clicks, counts.skips
    total = 0.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            total += clicks[item, position] + skips[item, position]
    return max(TOLERANCE, ROUNDING * total)


@kernel
def newton_step(objective: Objective, theta: Floats, kappa: Floats, work: Workspace) -> tuple[float, float]:
    """Take one projected Newton step in log space (Bertsekas 1982). It is halved until the objective increases.

    Values at 1 with a positive gradient are fixed. All other values take the Newton step and are capped at 1. Returns
    the predicted gain and the actual gain.
    """
    prior = objective.prior
    item_gradient, item_step, item_fixed = work.item_gradient, work.item_step, work.item_fixed
    position_gradient, position_step = work.position_gradient, work.position_step
    position_fixed, new_theta, new_kappa = work.position_fixed, work.new_theta, work.new_kappa
    derivatives(objective, theta, kappa, work)
    _fix_at_bounds(theta, item_gradient, item_fixed)
    _fix_at_bounds(kappa, position_gradient, position_fixed)
    for _ in range(_BOUND_PASSES):
        factorise(prior, theta, kappa, work)
        _solve(objective.counts, theta, kappa, work)
        if prior > 0.0:
            break
        _keep_scale(objective, theta, kappa, work)
        crossing = _stop_at_one(theta, item_gradient, item_fixed, item_step)
        crossing |= _stop_at_one(kappa, position_gradient, position_fixed, position_step)
        if not crossing:
            break
    predicted, longest = 0.0, _LONGEST_STEP
    for item in range(theta.size):
        predicted += item_gradient[item] * item_step[item]
        longest = max(longest, abs(item_step[item]))
    for position in range(kappa.size):
        predicted += position_gradient[position] * position_step[position]
        longest = max(longest, abs(position_step[position]))
    if predicted <= 0.0:
        return predicted, 0.0
    length = _LONGEST_STEP / longest
    for _ in range(HALVINGS):
        first_order = _apply_step(prior, length, theta, kappa, work)
        gain = _gain(objective, theta, kappa, work)
        if gain > 0.0 and gain >= 1e-4 * first_order:
            for item in range(theta.size):
                theta[item] = new_theta[item]
            for position in range(kappa.size):
                kappa[position] = new_kappa[position]
            return predicted, gain
        length *= 0.5
    return predicted, 0.0


@kernel(inline=True)
def _fix_at_bounds(values: Floats, gradient: Floats, fixed: NDArray[np.bool_]) -> None:
    for k in range(values.size):
        fixed[k] = values[k] == 0.0 or (values[k] >= 1.0 and gradient[k] >= 0.0)


@kernel(inline=True)
def _stop_at_one(values: Floats, gradient: Floats, fixed: NDArray[np.bool_], step: Floats) -> bool:
    """If the step of a value near 1 would cross 1, fix the value at exactly 1. Returns whether this fixed a new value.

    Otherwise such a value could approach 1 without ever reaching it. The other values compensate for it, so their steps
    would become shorter too.
    """
    newly_fixed = False
    for k in range(values.size):
        if 1.0 - _NEAR_ONE < values[k] < 1.0 and gradient[k] > 0.0:
            rest = -math.log(values[k])
            newly_fixed |= not fixed[k] and step[k] > rest
            fixed[k] |= step[k] > rest
            if fixed[k]:
                step[k] = rest
    return newly_fixed


@kernel(inline=True)
def _solve(counts: CountArrays, theta: Floats, kappa: Floats, work: Workspace) -> None:
    """Compute the Newton step from the factorised system. In a direction without curvature, its length is fixed."""
    item_fixed, item_gradient, item_curvature = work.item_fixed, work.item_gradient, work.item_curvature
    cross, system, pivots = work.cross, work.system, work.pivots
    step, item_step, position_gradient = work.position_step, work.item_step, work.position_gradient
    position_clicks, n_positions = counts.position_clicks, kappa.size
    for position in range(n_positions):
        step[position] = position_gradient[position]
    for item in range(theta.size):
        if not item_fixed[item] and item_curvature[item] > 0.0:
            for position in range(n_positions):
                step[position] -= cross[item, position] / item_curvature[item] * item_gradient[item]
    for k in range(n_positions):
        for j in range(k):
            step[k] -= system[k, j] * step[j]
    for k in range(n_positions):
        if pivots[k] > 0.0:
            step[k] /= pivots[k]
        elif abs(step[k]) > 1e-11 * position_clicks[k]:
            step[k] = math.copysign(_FLAT_STEP, step[k])
        else:
            step[k] = 0.0
    for k in range(n_positions - 1, -1, -1):
        for m in range(k + 1, n_positions):
            step[k] -= system[m, k] * step[m]
    for item in range(theta.size):
        if item_fixed[item]:
            item_step[item] = 0.0
        elif item_curvature[item] > 0.0:
            total = item_gradient[item]
            for position in range(n_positions):
                total -= cross[item, position] * step[position]
            item_step[item] = total / item_curvature[item]
        else:  # the item was clicked in every display, so the likelihood increases up to theta = 1
            item_step[item] = -math.log(theta[item])


@kernel(inline=True)
def _keep_scale(objective: Objective, theta: Floats, kappa: Floats, work: Workspace) -> None:
    """In each component where nothing is fixed at 1, shift the step so that one kappa stays the same.

    It is the kappa with the most clicks.

    Without a prior, log theta + c and log kappa - c have the same likelihood for every c. With the c chosen here, the
    bounds shorten the step as little as possible.
    """
    item_components, position_components = objective.item_components, objective.position_components
    item_fixed, position_fixed, position_clicks = work.item_fixed, work.position_fixed, objective.counts.position_clicks
    item_step, position_step = work.item_step, work.position_step
    for component in range(kappa.size):
        anchor, any_fixed = -1, False
        for position in range(kappa.size):
            if position_components[position] == component and kappa[position] > 0.0:
                any_fixed |= position_fixed[position]
                if anchor < 0 or position_clicks[position] > position_clicks[anchor]:
                    anchor = position
        for item in range(theta.size):
            any_fixed |= item_components[item] == component and theta[item] > 0.0 and item_fixed[item]
        if anchor >= 0 and not any_fixed:
            shift = position_step[anchor]
            for position in range(kappa.size):
                if position_components[position] == component and kappa[position] > 0.0:
                    position_step[position] -= shift
            for item in range(theta.size):
                if item_components[item] == component and theta[item] > 0.0:
                    item_step[item] += shift


@kernel(inline=True)
def _apply_step(prior: float, length: float, theta: Floats, kappa: Floats, work: Workspace) -> float:
    """Take `length` times the step, and write the new theta and kappa to the workspace. Returns the first-order gain.

    Values are capped at 1. With a prior, no value may reach 1, so each goes at most 99 % of the way to 1.
    """
    item_gradient, item_step, new_theta = work.item_gradient, work.item_step, work.new_theta
    position_gradient, position_step, new_kappa = work.position_gradient, work.position_step, work.new_kappa
    first_order = 0.0
    for item in range(theta.size):
        new_theta[item], log_change = _stepped(prior, theta[item], length * item_step[item])
        first_order += item_gradient[item] * log_change
    for position in range(kappa.size):
        new_kappa[position], log_change = _stepped(prior, kappa[position], length * position_step[position])
        first_order += position_gradient[position] * log_change
    return first_order


@kernel(inline=True)
def _stepped(prior: float, value: float, step: float) -> tuple[float, float]:
    """The value after a step of its logarithm, and the actual change of the logarithm."""
    if value == 0.0 or step == 0.0:
        return value, 0.0
    limit = 1.0 - 0.01 * (1.0 - value) if prior > 0.0 else 1.0
    stepped = value * math.exp(step) if step < 700.0 else limit
    if stepped < limit - 1e-15:  # exp(-log x) x may be below 1 by rounding
        return max(stepped, 1e-300), step
    return limit, math.log(limit / value)


@kernel(inline=True)
def _gain(objective: Objective, theta: Floats, kappa: Floats, work: Workspace) -> float:
    """How much the objective increases from (theta, kappa) to the new values, as a sum of differences."""
    counts, prior = objective.counts, objective.prior
    skips, item_clicks, position_clicks = counts.skips, counts.item_clicks, counts.position_clicks
    new_theta, new_kappa = work.new_theta, work.new_kappa
    gain = 0.0
    for position in range(kappa.size):
        gain += _parameter_gain(prior, position_clicks[position], kappa[position], new_kappa[position])
    for item in range(theta.size):
        gain += _parameter_gain(prior, item_clicks[item], theta[item], new_theta[item])
        for position in range(kappa.size):
            if skips[item, position] > 0.0:
                before, after = theta[item] * kappa[position], new_theta[item] * new_kappa[position]
                if after >= 1.0:
                    return -np.inf
                gain += skips[item, position] * math.log1p((before - after) / (1.0 - before))
    return gain


@kernel(inline=True)
def _parameter_gain(prior: float, clicks: float, before: float, after: float) -> float:
    """The terms of the gain that depend on a single theta or kappa."""
    if before == after:
        return 0.0
    gain = (clicks + prior) * math.log1p((after - before) / before)
    if prior > 0.0:
        gain += prior * math.log1p((before - after) / (1.0 - before))
    return gain


@kernel
def log_likelihood(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats) -> float:
    """The log of Eq. 4 with a uniform prior.

    If an outcome of probability 0 was observed, the result is minus infinity. 0 log 0 is 0.
    """
    total = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            chance = theta[item] * kappa[position]
            if clicks[item, position] > 0.0:
                total += clicks[item, position] * math.log(chance) if chance > 0.0 else -np.inf
            if skips[item, position] > 0.0:
                total += skips[item, position] * math.log1p(-chance) if chance < 1.0 else -np.inf
    return total


@kernel
def most_visible(component: int, position_components: Ints, kappa: Floats) -> int:
    """The position with the largest kappa in a component, or -1 if no kappa of the component is positive."""
    top = -1
    for position in range(kappa.size):
        if (
            position_components[position] == component
            and kappa[position] > 0.0
            and (top < 0 or kappa[position] > kappa[top])
        ):
            top = position
    return top
