"""Compile every kernel that a service may need, so that services that start later compile nothing.

`python -m slotwise.service.compile_all` fills the folder SLOTWISE_CACHE_DIR. A container image is built with it.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from slotwise.policies import policies
from slotwise.policies._policy_module import can_serve, find
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service, running
from slotwise.service.store.records import Event

POSITIONS = ["first", "second"]
ITEMS = {"a": ItemSpec(), "b": ItemSpec(prior=ItemPrior(1.0, 2.0)), "c": ItemSpec()}


def serving_policies() -> Iterator[PageSpec]:
    """A page for each policy that can serve. The kernels of a policy do not depend on its settings."""
    for policy in filter(lambda name: can_serve(find(name)), policies()):
        params = {"kappa": "svd"} if "kappa" in find(policy).Params._fields else {}
        yield PageSpec(positions=POSITIONS, policy=policy, params=params)


async def compile_all(store: Path) -> AsyncIterator[str]:
    """Serve a page of each policy from a new store, and yield the name of the policy when it is compiled."""
    async with running(store, seed=0) as service:
        await service.compiled.wait()
        for spec in serving_policies():
            await _use_page(service, spec)
            yield spec.policy


async def _use_page(service: Service, spec: PageSpec) -> None:
    """Do once what can need a kernel: displays before and after the first ensemble, clicks, insights."""
    await service.prepare(spec)
    body = NO_PAGE.with_spec(spec)
    await service.save_page(spec.policy, lambda _: body, None)
    model = await service.model(spec.policy)
    await service.save_items(model, list(ITEMS.items()))
    for _ in range(3):
        _, display, *_ = await service.recommend(spec.policy, RecommendationRequest())
        click = Event(EventKind.CLICK, display.id, None, None, POSITIONS[0], None)
        await service.record_events([click])
    await service.insights(model)


async def _main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async for policy in compile_all(Path(folder) / "trial.db"):
            print(f"compiled {policy}", flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
