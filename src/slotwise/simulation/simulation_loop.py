"""The simulation loop. It is written once for all policies and click models, and compiled as a whole."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.counts import skip_to_click
from slotwise.jit import kernel
from slotwise.policies._output_checks import CHOOSE, UPDATE, check_display, clear_display
from slotwise.policies._policy_errors import is_outside
from slotwise.policies._policy_module import keeps_counts

SimulationLoop = Callable[..., None]


def loop_of(policy: ModuleType, clickmodel: ModuleType) -> SimulationLoop:
    """The compiled loop for this policy and this click model. It is rebuilt if either module was reloaded."""
    return _build(policy, clickmodel, policy.choose, policy.update, clickmodel.click)


@cache
def _build(policy: ModuleType, clickmodel: ModuleType, *loaded: Callable[..., Any]) -> SimulationLoop:
    # a closure over modules, not over kernels, because otherwise numba would not find it in its disk cache
    learns_late = keeps_counts(policy)
    # numba removes what is not needed before it compiles the loop
    checked = is_outside(policy)
    contextual = hasattr(clickmodel, "draw_context")
    has_rows = hasattr(policy, "count_row")  # an item has a row of counts for each combination of levels

    @kernel(depends=(policy, clickmodel))
    def loop(params, state, model, best, checkpoints, delay, visitors, rng, progress, regret):  # type: ignore[no-untyped-def]
        """Simulate until the last checkpoint. regret[k] becomes the expected pseudo-regret (Eq. 3) at checkpoints[k].

        progress[0] is the number of rounds so far. Another thread can set progress[1] to stop the loop at the next
        checkpoint.
        """
        if checked:
            n_items = clickmodel.n_items(model)
            cells = np.empty(best.size + n_items, np.int64)  # a write after the end of the display changes nothing else
            display = cells[: best.size]
        else:
            display = np.empty(best.size, np.int64)
        clicks = np.zeros(best.size, np.int64)
        no_clicks = np.zeros(best.size, np.int64)
        late = np.full((delay, best.size), EMPTY, np.int64)  # clicked rows of the last `delay` rounds
        best_reward = clickmodel.expected_reward(model, best)
        lost = 0.0
        t = 0
        for k in range(checkpoints.size):
            while t < checkpoints[k]:
                t += 1
                if contextual:
                    clickmodel.draw_context(model, visitors, best)
                    best_reward = clickmodel.expected_reward(model, best)
                if checked:
                    clear_display(cells, best.size)
                policy.choose(params, state, rng, display)
                if checked:
                    check_display(cells, best.size, n_items, t, CHOOSE)
                clickmodel.click(model, display, visitors, clicks)
                lost += best_reward - clickmodel.expected_reward(model, display)
                if delay == 0:
                    policy.update(params, state, display, clicks)
                else:
                    policy.update(params, state, display, no_clicks)  # skipped until the click arrives
                    if checked:
                        check_display(cells, best.size, n_items, t, UPDATE)
                    row = t % delay
                    for position in range(best.size):
                        clicked = late[row, position]
                        if learns_late and clicked != EMPTY:
                            skip_to_click(state.counts, clicked, position)
                        clicked = EMPTY
                        if clicks[position]:
                            clicked = display[position]
                            if has_rows:
                                clicked = policy.count_row(params, state, clicked)
                        late[row, position] = clicked
            regret[k] = lost
            progress[0] = t
            if progress[1]:
                break

    return loop
