"""Compile the kernels of each policy once, in the background.

The compiler holds the GIL for long periods. So while pages are served, a child process compiles and fills the cache of
kernels, and then this process loads them from the cache. `python -m slotwise.service.pages.compiler SPEC` is the child.
"""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.jit import cache_folder
from slotwise.policies._ensemble_source import ensemble_source
from slotwise.service.background_threads import run_in_background
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.page_policy import policy_name, serving_policy
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import PageCounts, StoredPage
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import TemplateCounts

TRIAL = PageSpec(positions=["one"])
_THIS_MODULE = "slotwise.service.pages.compiler"


class Compiler:
    """Compiles each policy once. Create it inside a running event loop."""

    def __init__(self) -> None:
        self._compiled: dict[str, asyncio.Future[None]] = {}  # policy -> its compilation; removed if it fails
        self._one_at_a_time = asyncio.Lock()
        self._is_serving = False

    def kernels(self, spec: PageSpec) -> "asyncio.Future[None]":
        """A future for the kernels of the page's policy. It completes when another thread has compiled them."""
        policy = policy_name(spec)
        if policy not in self._compiled:
            self._compiled[policy] = asyncio.ensure_future(self._compile(spec))
        return self._compiled[policy]

    async def _compile(self, spec: PageSpec) -> None:
        try:
            async with self._one_at_a_time:
                if self._is_serving:  # before the first page, no request waits for the GIL, and progress is reported
                    await run_in_background(compile_in_child, spec)
                await run_in_background(compile_kernels, spec)
                self._is_serving = True
        except BaseException:
            del self._compiled[policy_name(spec)]
            raise


def compile_in_child(spec: PageSpec) -> None:
    """Fill the cache of kernels, if it lacks those of the policy.

    If the child fails, or if kernels of the policy cannot be cached, this process compiles them later.
    """
    folder = cache_folder(serving_policy(spec).__name__, _THIS_MODULE)
    if folder is None or not os.access(folder, os.W_OK):
        return
    if (marker := folder / f"page-kernels-{policy_name(spec)}").exists():
        return
    command = [sys.executable, "-P", "-m", _THIS_MODULE, msgspec.json.encode(spec).decode()]
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
        with suppress(OSError):  # the cache is full or read-only: the next start tries again
            marker.touch()


def compile_kernels(like: PageSpec = TRIAL) -> None:
    """Compile the kernels of a policy, or load them from the cache. They do not depend on the values of its params."""
    spec = msgspec.structs.replace(TRIAL, policy=like.policy, params=like.params, features=like.features)
    page = StoredPage(0, "trial", 1, False, 0, 0.0, NO_PAGE.with_spec(spec))
    model = PageModel(page, [("a", ItemSpec())], PageCounts([], 0.0, 0), np.random.default_rng(0))
    model.choose(RecommendationRequest(), "warming", 0, 0.0)
    prior = ItemPrior(1.0, 2.0)
    model.set_items([(1, "b", ItemSpec(prior=prior))])
    model.begin_epoch(1, 0.0)
    model.install(model.begin_refresh().run(np.random.default_rng(0)))  # compiles also what changes the counts
    if ensemble_source(serving_policy(spec)).takes_shared_draws:
        _compile_template(model)
    display = model.choose(RecommendationRequest(), "trial", 0, 0.0)
    if not display.entries:
        raise BadInput("the compiled kernels do not work on this machine: a trial display stayed empty")


def _compile_template(model: PageModel) -> None:
    """Compile what a page of a template needs besides."""
    rng, template = np.random.default_rng(0), PageTemplate("trial", lambda: counts, lambda _: None)
    counts = TemplateCounts([model.block()], 1, 1.0)
    template.install(template.begin_refresh().run(rng))
    items = list(zip(model.names, model.specs, strict=True))
    page = PageModel(model.page, items, PageCounts([], 0.0, 0), rng)
    page.join(template)
    page.choose(RecommendationRequest(), "warming", 0, 0.0)
    page.install(page.begin_refresh().run(rng))


if __name__ == "__main__":
    os.nice(10)
    compile_kernels(msgspec.json.decode(sys.argv[1], type=PageSpec))
