"""The kernels `choose` and `update` that several policies share.

They are built for each policy, as closures over its module. If a single kernel took the Params and State of every
policy, its cache would stay valid when the files that define these types change (see `jit.kernel`).
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Ints
from slotwise.counts import add
from slotwise.jit import kernel

Choose = Callable[[Any, Any, np.random.Generator, Ints], None]
Update = Callable[[Any, Any, Ints, Ints], None]


def choose_by_score(policy_name: str) -> Choose:
    """Build `choose` for the policy with this `__name__`. It shows the best display under the policy's `score`.

    The scores are written to `theta` and `kappa` of the policy's state.
    """
    policy = sys.modules[policy_name]

    @kernel(inline=True, depends=(policy,))
    def choose(params: Any, state: Any, rng: np.random.Generator, display: Ints) -> None:
        policy.score(params, state, rng, state.theta, state.kappa)
        arrange(state.theta, state.kappa, display)

    return choose


def count_display(policy_name: str) -> Update:
    """Build `update` for the policy with this `__name__`. It counts displays and clicks in `counts` of the state."""

    @kernel(inline=True, depends=(sys.modules[policy_name],))
    def update(params: Any, state: Any, display: Ints, clicks: Ints) -> None:
        add(state.counts, display, clicks)

    return update
