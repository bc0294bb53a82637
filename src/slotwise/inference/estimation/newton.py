"""theta and kappa of largest posterior density: a few EM passes, then Newton's method.

EM comes near the optimum soon and then crawls. But with a = log theta and b = log kappa the log-likelihood

    sum_il S_il (a_i + b_l) + F_il log(1 - exp(a_i + b_l))

is concave, its Hessian is diagonal but for the block between items and positions, and so a Newton step costs O(N L^2).
"""

import math

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.estimation.curvature import Work, factor, slopes
from slotwise.inference.estimation.em import em_pass
from slotwise.jit import kernel

EM_PASSES = 3  # before Newton's method, and again whenever a step of it gains nothing
NEWTON_STEPS = 100
HALVINGS = 40
TOLERANCE = 1e-10  # nats that a Newton step may still promise at the end
ROUNDING = 1e-15  # the same for each click or skip counted: less than that drowns in rounding
_FLAT_STEP = 2.0  # how far to go, in logs, where they do not bend but do slope
_LONGEST = 10.0  # no theta or kappa goes further than that in one step, in logs
_CLOSE = 0.01  # to 1
_TRIES = 4  # at finding out what has to stop at 1
_INSIDE = 1e-12  # with a prior theta and kappa stay this far from 1


@kernel
def start(tally: CountArrays, prior: float, theta: Floats, kappa: Floats) -> None:
    """A first guess: kappa from the click rates of positions, theta given kappa; without prior, no clicks means 0.

    The scale is shared out between theta and kappa so that the largest of each are equal and below 1, where EM
    would stay for ever.
    """
    clicks, skips, item_clicks, position_clicks = tally.clicks, tally.skips, tally.item_clicks, tally.position_clicks
    best, top = 0.0, 0.0
    for position in range(kappa.size):
        skipped = 0.0
        for item in range(theta.size):
            skipped += skips[item, position]
        kappa[position] = _rate(position_clicks[position], position_clicks[position] + skipped, prior)
        top = max(top, kappa[position])
    for item in range(theta.size):
        looks = 0.0
        for position in range(kappa.size):
            looks += (clicks[item, position] + skips[item, position]) * kappa[position]
        theta[item] = _rate(item_clicks[item], looks / top, prior) if top > 0.0 else 0.0
        best = max(best, theta[item])
    if best > 0.0:
        share = math.sqrt(best)
        for item in range(theta.size):
            theta[item] /= share
        for position in range(kappa.size):
            kappa[position] *= share / top


@kernel(inline=True)
def _rate(clicks: float, looks: float, prior: float) -> float:
    return 0.0 if prior == 0.0 and clicks == 0.0 else min((clicks + 0.5) / (looks + 1.0), 0.99)


@kernel
def maximise(
    tally: CountArrays, prior: float, item_parts: Ints, position_parts: Ints, theta: Floats, kappa: Floats, work: Work
) -> tuple[int, bool]:
    """Bring (theta, kappa) from a first guess to the largest penalised likelihood, never below the guess's.

    Returns the number of EM passes and Newton steps, and whether the end was reached. What starts at 0 stays there.
    """
    looks, passes, gained, enough = work.looks, 0, 0.0, _enough(tally)
    for _ in range(NEWTON_STEPS):
        if gained <= 0.0:
            for _ in range(EM_PASSES):
                em_pass(tally, prior, theta, kappa, looks)
            passes += EM_PASSES
            if prior > 0.0:  # a share can round to 1, where the prior's density is 0
                for item in range(theta.size):
                    theta[item] = min(theta[item], 1.0 - _INSIDE)
                for position in range(kappa.size):
                    kappa[position] = min(kappa[position], 1.0 - _INSIDE)
        promised, gained = newton_step(tally, prior, item_parts, position_parts, theta, kappa, work)
        passes += 1
        if promised < enough:
            return passes, True
    return passes, False


@kernel(inline=True)
def _enough(tally: CountArrays) -> float:
    clicks, skips = tally.clicks, tally.skips
    counted = 0.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            counted += clicks[item, position] + skips[item, position]
    return max(TOLERANCE, ROUNDING * counted)


@kernel
def newton_step(
    tally: CountArrays, prior: float, item_parts: Ints, position_parts: Ints, theta: Floats, kappa: Floats, work: Work
) -> tuple[float, float]:
    """One projected Newton step in log space (Bertsekas 1982), shortened until it gains; what it promised and gained.

    Values at 1 that want to go higher are held there; the others take the Newton step for each other, cut at 1.
    """
    item_pull, item_step, item_held = work.item_pull, work.item_step, work.item_held
    position_pull, position_step, position_held = work.position_pull, work.position_step, work.position_held
    new_theta, new_kappa = work.new_theta, work.new_kappa
    slopes(tally, prior, theta, kappa, work)
    _hold(theta, item_pull, item_held)
    _hold(kappa, position_pull, position_held)
    for _ in range(_TRIES):
        factor(prior, theta, kappa, work)
        _solve(tally, theta, kappa, work)
        if prior > 0.0:
            break
        _keep_scale(tally, item_parts, position_parts, theta, kappa, work)
        crossing = _send_to_one(theta, item_pull, item_held, item_step)
        crossing |= _send_to_one(kappa, position_pull, position_held, position_step)
        if not crossing:
            break
    promised, longest = 0.0, _LONGEST
    for item in range(theta.size):
        promised += item_pull[item] * item_step[item]
        longest = max(longest, abs(item_step[item]))
    for position in range(kappa.size):
        promised += position_pull[position] * position_step[position]
        longest = max(longest, abs(position_step[position]))
    if promised <= 0.0:
        return promised, 0.0
    length = _LONGEST / longest
    for _ in range(HALVINGS):
        slope = _move(prior, length, theta, kappa, work)
        gained = _gain(tally, prior, theta, kappa, work)
        if gained > 0.0 and gained >= 1e-4 * slope:
            for item in range(theta.size):
                theta[item] = new_theta[item]
            for position in range(kappa.size):
                kappa[position] = new_kappa[position]
            return promised, gained
        length *= 0.5
    return promised, 0.0


@kernel
def _hold(values: Floats, pull: Floats, held: NDArray[np.bool_]) -> None:
    for k in range(values.size):
        held[k] = values[k] == 0.0 or (values[k] >= 1.0 and pull[k] >= 0.0)


@kernel
def _send_to_one(values: Floats, pull: Floats, held: NDArray[np.bool_], step: Floats) -> bool:
    """Hold, too, what is pulled up and would cross 1 from close by, and send it there; whether there is more of it.

    Else it could creep up to 1 for ever, each time cutting short the step that the others took for its sake.
    """
    more = False
    for k in range(values.size):
        if 1.0 - _CLOSE < values[k] < 1.0 and pull[k] > 0.0:
            rest = -math.log(values[k])
            more |= not held[k] and step[k] > rest
            held[k] |= step[k] > rest
            if held[k]:
                step[k] = rest
    return more


@kernel
def _solve(tally: CountArrays, theta: Floats, kappa: Floats, work: Work) -> None:
    """The Newton step from the factored system; to the end of the slope where nothing bends."""
    item_held, item_pull, item_bend, cross = work.item_held, work.item_pull, work.item_bend, work.cross
    system, pivots, step, item_step = work.system, work.pivots, work.position_step, work.item_step
    position_pull, position_clicks, n_positions = work.position_pull, tally.position_clicks, kappa.size
    for position in range(n_positions):
        step[position] = position_pull[position]
    for item in range(theta.size):
        if not item_held[item] and item_bend[item] > 0.0:
            for position in range(n_positions):
                step[position] -= cross[item, position] / item_bend[item] * item_pull[item]
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
        if item_held[item]:
            item_step[item] = 0.0
        elif item_bend[item] > 0.0:
            total = item_pull[item]
            for position in range(n_positions):
                total -= cross[item, position] * step[position]
            item_step[item] = total / item_bend[item]
        else:  # clicked whenever shown: nothing speaks against 1
            item_step[item] = -math.log(theta[item])


@kernel
def _keep_scale(
    tally: CountArrays, item_parts: Ints, position_parts: Ints, theta: Floats, kappa: Floats, work: Work
) -> None:
    """In each part of the item-position graph keep the kappa with most clicks, if nothing there is held at 1.

    Without prior log theta + c, log kappa - c is as good for every c, and this c brings the step to the bounds last.
    """
    item_held, position_held, position_clicks = work.item_held, work.position_held, tally.position_clicks
    item_step, position_step = work.item_step, work.position_step
    for part in range(kappa.size):
        anchor, pinned = -1, False
        for position in range(kappa.size):
            if position_parts[position] == part and kappa[position] > 0.0:
                pinned |= position_held[position]
                if anchor < 0 or position_clicks[position] > position_clicks[anchor]:
                    anchor = position
        for item in range(theta.size):
            pinned |= item_parts[item] == part and theta[item] > 0.0 and item_held[item]
        if anchor >= 0 and not pinned:
            shift = position_step[anchor]
            for position in range(kappa.size):
                if position_parts[position] == part and kappa[position] > 0.0:
                    position_step[position] -= shift
            for item in range(theta.size):
                if item_parts[item] == part and theta[item] > 0.0:
                    item_step[item] += shift


@kernel
def _move(prior: float, length: float, theta: Floats, kappa: Floats, work: Work) -> float:
    """Go `length` of the step, cut at 1, into new_theta and new_kappa; the gain to first order.

    With a prior nothing may reach 1: at most 99 % of the way there.
    """
    item_pull, item_step, new_theta = work.item_pull, work.item_step, work.new_theta
    position_pull, position_step, new_kappa = work.position_pull, work.position_step, work.new_kappa
    slope = 0.0
    for item in range(theta.size):
        new_theta[item], gone = _moved(prior, theta[item], length * item_step[item])
        slope += item_pull[item] * gone
    for position in range(kappa.size):
        new_kappa[position], gone = _moved(prior, kappa[position], length * position_step[position])
        slope += position_pull[position] * gone
    return slope


@kernel(inline=True)
def _moved(prior: float, value: float, step: float) -> tuple[float, float]:
    if value == 0.0 or step == 0.0:
        return value, 0.0
    limit = 1.0 - 0.01 * (1.0 - value) if prior > 0.0 else 1.0
    moved = value * math.exp(step) if step < 700.0 else limit
    if moved < limit - 1e-15:  # exp(-log x) x may fall short of 1 by rounding
        return max(moved, 1e-300), step
    return limit, math.log(limit / value)


@kernel
def _gain(tally: CountArrays, prior: float, theta: Floats, kappa: Floats, work: Work) -> float:
    """How much the penalised log-likelihood grows from (theta, kappa) to the new ones, summed as differences."""
    skips, item_clicks, position_clicks = tally.skips, tally.item_clicks, tally.position_clicks
    new_theta, new_kappa = work.new_theta, work.new_kappa
    gained = 0.0
    for position in range(kappa.size):
        gained += _side_gain(prior, position_clicks[position], kappa[position], new_kappa[position])
    for item in range(theta.size):
        gained += _side_gain(prior, item_clicks[item], theta[item], new_theta[item])
        for position in range(kappa.size):
            if skips[item, position] > 0.0:
                before, after = theta[item] * kappa[position], new_theta[item] * new_kappa[position]
                if after >= 1.0:
                    return -np.inf
                gained += skips[item, position] * math.log1p((before - after) / (1.0 - before))
    return gained


@kernel(inline=True)
def _side_gain(prior: float, clicks: float, before: float, after: float) -> float:
    """The share in the gain of what depends on a single theta or kappa."""
    if before == after:
        return 0.0
    gained = (clicks + prior) * math.log1p((after - before) / before)
    if prior > 0.0:
        gained += prior * math.log1p((before - after) / (1.0 - before))
    return gained


@kernel
def log_likelihood(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats) -> float:
    """Log of Eq. 4 with a uniform prior: 0 log 0 is 0, and what was seen but has chance 0 gives minus infinity."""
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
def most_visible(part: int, position_parts: Ints, kappa: Floats) -> int:
    """The position of largest kappa in a part of the item-position graph; -1 if none there has a positive one."""
    top = -1
    for position in range(kappa.size):
        if position_parts[position] == part and kappa[position] > 0.0 and (top < 0 or kappa[position] > kappa[top]):
            top = position
    return top
