"""dcmKL-UCB: like CascadeKL-UCB, but it learns from all positions up to the last click.

Katariya, Kveton, Szepesvari and Wen 2016, "DCM Bandits: Learning to Rank with Multiple Clicks".
"""

from slotwise.checks import Ints
from slotwise.jit import kernel
from slotwise.policies._observations import last_click, observe
from slotwise.policies.cascade_kl_ucb import Params, State, check, choose, init

__all__ = ["Params", "State", "check", "choose", "init", "update"]


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the last click, or from all of them if there is none."""
    observe(state.seen, display, clicks, last_click(clicks))
