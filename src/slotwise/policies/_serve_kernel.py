"""The kernel of one display: a policy draws scores, and the allowed items are arranged by them."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.arrange import ItemRules, arrange_among
from slotwise.jit import kernel
from slotwise.policies._output_checks import check_scores
from slotwise.policies._policy_errors import is_outside


def serve_kernel(module: ModuleType) -> Callable[..., None]:
    """The kernel that draws scores with the policy of this module, and arranges the allowed items by them."""
    return _build_serve(module, module.score)


@cache
def _build_serve(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    # numba removes what the policy does not need before it compiles the kernel
    checked, plans = is_outside(policy), hasattr(policy, "score_values")

    @kernel(depends=(policy,))
    def serve(params, state, rng, theta, kappa, allowed, pinned, rules, display):  # type: ignore[no-untyped-def]
        if checked:
            theta[:] = np.nan
            kappa[:] = np.nan
        if plans:
            policy.score_values(params, state, rng, rules, theta, kappa)
        else:
            policy.score(params, state, rng, theta, kappa)
        if checked:
            check_scores(theta, kappa)
        if plans:  # the scores are those of value x theta
            rules = ItemRules(np.empty(0), rules.categories, rules.most_per_category)
        arrange_among(theta, kappa, allowed, pinned, rules, display)

    return serve
