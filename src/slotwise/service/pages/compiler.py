"""Kernels compiled beside the event loop, each policy's once."""

import asyncio

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.service.background import aside
from slotwise.service.pages.page import NO_PAGE, ItemSpec, PageSpec, Prior
from slotwise.service.pages.page_model import Ask, PageModel
from slotwise.service.store.interface import PageCounts, StoredPage

TRIAL = PageSpec(positions=["one"])


class Compiler:
    """Made inside a running event loop."""

    def __init__(self) -> None:
        self._compiled: dict[str, asyncio.Future[None]] = {}  # by policy; one that failed is tried again
        self._one_at_a_time = asyncio.Lock()

    def kernels(self, spec: PageSpec) -> "asyncio.Future[None]":
        """Done when the kernels of the page's policy are compiled: on another thread, once."""
        if spec.policy not in self._compiled:
            self._compiled[spec.policy] = asyncio.ensure_future(self._compile(spec))
        return self._compiled[spec.policy]

    async def _compile(self, spec: PageSpec) -> None:
        try:
            async with self._one_at_a_time:
                await aside(compile_kernels, spec)
        except BaseException:
            del self._compiled[spec.policy]
            raise


def compile_kernels(like: PageSpec = TRIAL) -> None:
    """Compile, or read from the cache, what a page's policy needs, whatever the values of its params."""
    spec = msgspec.structs.replace(TRIAL, policy=like.policy, params=like.params)
    page = StoredPage(0, "trial", 1, False, 0, 0.0, NO_PAGE.with_spec(spec))
    model = PageModel(page, [("a", ItemSpec())], PageCounts([], 0.0, 0), np.random.default_rng(0))
    choice = model.choose(Ask(), 0.0, True)
    model.set_items([(1, "b", ItemSpec(prior=Prior(1.0, 2.0)))])  # the kernels of changes, too: no click waits for them
    model.begin_epoch(1, 0.0)
    if not choice.places:
        raise BadInput("the kernels do not work on this machine")
