"""The compiled loops of a page in memory. They are built once for each policy, from its `score`."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from slotwise.arrange import EMPTY, arrange_among
from slotwise.checks import Floats, Ints
from slotwise.counts import shift
from slotwise.jit import kernel, numba_config


@structref.register
class RngHandleType(types.StructRef):
    """The numba type of RngHandle."""


class RngHandle(structref.StructRefProxy):
    """A random generator that is unpacked once. Unpacking it in every call would take as long as drawing the sample.

    `rng` is the generator itself, not a copy.
    """


class _PlainRngHandle:
    """Replaces RngHandle if the kernels are not compiled."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng


structref.define_proxy(RngHandle, RngHandleType, ["rng"])  # type: ignore[no-untyped-call]


@kernel
def _make_handle(rng):  # type: ignore[no-untyped-def]
    return RngHandle(rng)  # type: ignore[no-untyped-call]


def rng_handle(rng: np.random.Generator) -> Any:
    """The form in which the kernels below take a generator."""
    return _PlainRngHandle(rng) if numba_config.DISABLE_JIT else _make_handle(rng)  # type: ignore[no-untyped-call]


class SamplerArguments(NamedTuple):
    """What a kernel passes to the policy (settings, state, generator, output arrays), and the number of segments."""

    params: Any
    state: Any
    handle: Any
    theta: Floats
    kappa: Floats
    n_segments: int


class LayoutArrays(NamedTuple):
    """The columns of a layout's positions in the count matrix, and the display to fill."""

    columns: Ints
    display: Ints


@cache
def build_serve(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    """Build a kernel that draws a sample, arranges a display of one layout for one segment, and counts its skips."""

    @kernel(depends=(policy,), nogil=False)
    def serve(arguments, layout, segment, allowed, pinned, count):  # type: ignore[no-untyped-def]
        params, state, handle, theta, kappa, n_segments = arguments
        columns, display = layout
        policy.score(params, state, handle.rng, theta, kappa)
        arrange_among(theta[segment::n_segments].copy(), kappa[columns], allowed, pinned, display)
        if count:
            displays = 0.0
            for k in range(display.size):
                if display[k] != EMPTY:
                    shift(state.counts, display[k] * n_segments + segment, columns[k], 0.0, 1.0)
                    displays = 1.0
            state.counts.displays[0] += displays

    return serve


@cache
def build_warm_up(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    """Build a kernel that advances a chain by a number of sweeps."""

    @kernel(depends=(policy,))
    def warm_up(arguments, sweeps):  # type: ignore[no-untyped-def]
        params, state, handle, theta, kappa, _ = arguments
        for _sweep in range(sweeps):
            policy.score(params, state, handle.rng, theta, kappa)

    return warm_up
