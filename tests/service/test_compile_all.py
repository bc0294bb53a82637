"""One command compiles every policy that can serve. `make image` tests that nothing is left to compile."""

import asyncio
from pathlib import Path

import pytest

from slotwise.policies import policies
from slotwise.policies._policy_module import can_serve, find
from slotwise.service import compile_all
from slotwise.service.pages.page_definition import PageSpec


def test_every_policy_that_serves_is_compiled() -> None:
    assert [spec.policy for spec in compile_all.serving_policies()] == [
        name for name in policies() if can_serve(find(name))
    ]


def test_a_page_of_each_policy_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two policies that other tests compile too."""
    specs = [PageSpec(positions=compile_all.POSITIONS, policy=name) for name in ("slot_ts", "uniform")]
    monkeypatch.setattr(compile_all, "serving_policies", lambda: specs)

    async def compiled() -> list[str]:
        return [policy async for policy in compile_all.compile_all(tmp_path / "store.db")]

    assert asyncio.run(compiled()) == ["slot_ts", "uniform"]
