"""CombCascade: upper confidence bounds for a conjunctive cascade.

Kveton, Wen, Ashkan and Szepesvari 2015, "Combinatorial Cascading Bandits".

The display whose bounds have the largest product has the items with the largest bounds, as in CascadeUCB1.
"""

from slotwise.checks import Ints
from slotwise.clickmodels._click_model import Feedback
from slotwise.jit import kernel
from slotwise.policies._observations import first_failure, observe
from slotwise.policies.cascade_ucb1 import Params, State, check, choose, init

__all__ = ["FEEDBACK", "Params", "State", "check", "choose", "init", "update"]

FEEDBACK = (Feedback.PREFIX,)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first one that did not satisfy the visitor."""
    observe(state.seen, display, clicks, first_failure(clicks))
