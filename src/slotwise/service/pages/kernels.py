"""The compiled loops of a page in memory, built once for each policy from its own `score`."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from slotwise.arrange import EMPTY, arrange_among
from slotwise.counts import shift
from slotwise.jit import kernel


@cache
def build_serve(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    """Draw a sample, arrange a display of one layout for one segment, and count its skips when it counts."""

    @kernel(depends=(policy,), nogil=False)
    def serve(params, state, source, theta, kappa, segment, width, columns, allowed, pinned, display, count):  # type: ignore[no-untyped-def]
        policy.score(params, state, source.rng, theta, kappa)
        arrange_among(theta[segment::width].copy(), kappa[columns], allowed, pinned, display)
        if count:
            shown = 0.0
            for k in range(display.size):
                if display[k] != EMPTY:
                    shift(state.counts, display[k] * width + segment, columns[k], 0.0, 1.0)
                    shown = 1.0
            state.counts.displays[0] += shown

    return serve


@cache
def build_warm(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    """Move a chain for some sweeps."""

    @kernel(depends=(policy,))
    def warm(params, state, source, theta, kappa, sweeps):  # type: ignore[no-untyped-def]
        for _ in range(sweeps):
            policy.score(params, state, source.rng, theta, kappa)

    return warm
