"""A source of random numbers, taken apart once: for every call that took as long as drawing the sample."""

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from slotwise.jit import kernel, numba_config


@structref.register
class SourceType(types.StructRef):
    """As numba sees it."""


class Source(structref.StructRefProxy):
    """As Python sees it: something to hand over. The generator in it is the one that was given, not a copy."""


class _Plain:
    """The same where nothing is compiled."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng


structref.define_proxy(Source, SourceType, ["rng"])  # type: ignore[no-untyped-call]


@kernel
def _source(rng):  # type: ignore[no-untyped-def]
    return Source(rng)  # type: ignore[no-untyped-call]


def source_of(rng: np.random.Generator) -> Any:
    """What a kernel takes in place of a generator, as its `rng`."""
    return _Plain(rng) if numba_config.DISABLE_JIT else _source(rng)  # type: ignore[no-untyped-call]
