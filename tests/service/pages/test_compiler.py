"""Policies are compiled in the background: other pages are served at the same time, and no event is lost."""

import asyncio
import subprocess
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.policies import bc_mpts
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.compiler import compile_in_child, compile_kernels
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service
from slotwise.service.store.records import Event
from tests.service.running_service import ITEMS, POSITIONS, Client, run_scenario
from tests.waiting import HANG

MEANWHILE = 5  # fewest displays of another page while a policy is compiled; an idle machine serves hundreds


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A policy that is not compiled yet: a file younger than this process is not cached."""
    (tmp_path / "fresh.py").write_text(Path(bc_mpts.__file__).read_text())
    monkeypatch.chdir(tmp_path)
    return "fresh.py"


async def define(service: Service, name: str, policy: str, **spec: Any) -> None:
    """Define a page without the HTTP interface, which accepts the policies of the package only."""
    body = NO_PAGE.with_spec(PageSpec(positions=POSITIONS, policy=policy, **spec))
    await service.save_page(name, lambda _: body, None)
    page = await service.store.do(lambda ledger: ledger.page(name))
    assert page is not None
    await service.store.do(lambda ledger: ledger.save_items(page.number, [(item, ItemSpec()) for item in ITEMS]))


def test_other_pages_are_served_during_compilation(tmp_path: Path, policy: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        await define(client.service, "slow", policy, params={"kappa": "svd"})
        asking = [asyncio.create_task(client.service.recommend("slow", RecommendationRequest())) for _ in range(5)]
        meanwhile = 0
        while not all(task.done() for task in asking):
            await client.recommend()
            await asyncio.sleep(0.005)  # leave most of the CPU time to the compiler
            meanwhile += 1
        assert meanwhile >= MEANWHILE
        assert len({id(model) for model, *_ in await asyncio.gather(*asking)}) == 1, "one page, one model"

    run_scenario(tmp_path, scenario)


def test_events_committed_during_compilation_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page changes to another policy while visitors click."""

    clicked = threading.Event()

    def slowly(like: PageSpec) -> None:
        compile_kernels(like)
        assert clicked.wait(HANG)

    async def scenario(client: Client) -> None:
        await client.page()
        shown = [await client.recommend() for _ in range(20)]
        monkeypatch.setattr("slotwise.service.pages.compiler.compile_kernels", slowly)
        await define(client.service, "shop", "uniform")
        waiting = asyncio.create_task(client.service.recommend("shop", RecommendationRequest()))
        for display in shown:
            click = Event(EventKind.CLICK, display["id"], None, None, "hero", None)
            assert (await client.service.record_events([click])).outcomes[0].status == "accepted"
        assert not waiting.done(), "all events came while the policy was compiled"
        clicked.set()
        model, *_ = await waiting
        kept = await client.service.store.do(lambda ledger: ledger.counts(model.page.number))
        assert {cell[:3]: cell[3:] for cell in model.cells()} == {cell[:3]: cell[3:] for cell in kept.cells}
        assert (model.counts().clicks.sum(), model.counts().displays, kept.displays) == (20.0, 21.0, 21.0)

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_a_page_uses_its_old_policy_until_the_new_one_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, served = [], threading.Event()

    def slowly(like: PageSpec) -> None:
        assert served.wait(HANG), "no display came while the policy was compiled"
        compile_kernels(like)
        compiled.append(like.policy)

    async def scenario(client: Client) -> None:
        await client.page()
        monkeypatch.setattr("slotwise.service.pages.compiler.compile_kernels", slowly)
        patch = asyncio.create_task(client.ok("PATCH", "/v1/pages/shop", {"policy": "uniform"}))
        for _ in range(MEANWHILE):
            await client.recommend()
        assert not patch.done()
        served.set()
        assert (await patch)["policy"] == "uniform"
        assert (await client.ok("PUT", "/v1/pages/more", {"positions": POSITIONS, "policy": "uniform"}))["version"] == 1
        refused = await client.http.patch("/v1/pages/shop", json={"policy": "pbm_ts"})
        assert refused.status_code == 422, "a required parameter is missing, which is checked before compilation"
        assert compiled == ["uniform"], "once"

    run_scenario(tmp_path, scenario)


def test_a_failed_compilation_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        with monkeypatch.context() as broken:
            broken.setattr("slotwise.service.pages.compiler.compile_kernels", lambda _: 1 // 0)
            refused = await client.http.patch("/v1/pages/shop", json={"policy": "uniform"})
            assert refused.status_code == 500
        assert (await client.recommend())["items"]
        await client.ok("PATCH", "/v1/pages/shop", {"policy": "uniform"})
        assert (await client.recommend())["items"]

    run_scenario(tmp_path, scenario)


def test_a_child_process_fills_the_cache_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is real, but finds most kernels in the cache of the other tests."""
    commands, run, spec = [], subprocess.run, PageSpec(positions=["one"], policy="greedy")

    def recorded(command: list[str], **options: Any) -> Any:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr("slotwise.service.pages.compiler.cache_folder", lambda *_: tmp_path)
    monkeypatch.setattr("slotwise.service.pages.compiler.subprocess.run", recorded)
    compile_in_child(spec)
    compile_in_child(spec)
    assert len(commands) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["page-kernels-greedy"]
    compile_in_child(msgspec.structs.replace(spec, policy="pbm_ts"))  # its settings are invalid, so the child fails
    assert len(commands) == 2
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr("slotwise.service.pages.compiler.cache_folder", lambda *_: None)
    compile_in_child(spec)
    assert len(commands) == 2, "what cannot be cached is compiled in this process"


def test_no_child_process_compiles_for_a_read_only_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotwise.service.pages.compiler.cache_folder", lambda *_: tmp_path)
    monkeypatch.setattr("slotwise.service.pages.compiler.os.access", lambda *_: False)  # root may write everywhere
    monkeypatch.setattr("slotwise.service.pages.compiler.subprocess.run", lambda *_, **__: pytest.fail("a child"))
    compile_in_child(PageSpec(positions=["one"], policy="greedy"))


def test_only_a_service_that_is_ready_compiles_in_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children = list[str]()
    monkeypatch.setattr("slotwise.service.pages.compiler.compile_in_child", lambda spec: children.append(spec.policy))

    async def scenario(client: Client) -> None:
        await client.page()
        await client.page("other", policy="uniform")
        await client.page("third", policy="uniform")

    run_scenario(tmp_path, scenario)
    assert children == ["uniform"]
