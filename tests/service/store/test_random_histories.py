"""Random histories of a store, with crashes, compared with plain dictionaries that use neither store nor folding.

To simulate a crash, the test copies the files while the writer may be writing, and opens the copy. kill -9 leaves the
same files.
"""

import asyncio
import copy
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from slotwise.service.errors import Conflict, NotFound
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_checks import check_page
from slotwise.service.pages.page_definition import NO_PAGE, ItemPatch, ItemPrior, ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_model import DROP_MARGIN
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service
from slotwise.service.store.records import CellCounts, Event, StoredPage
from tests.service.reference_model import PlainDisplay, PlainModel, PlainPage
from tests.service.running_service import ITEMS, POSITIONS, ManualClock

WINDOW, KEPT, HALF_LIFE = 100.0, 300.0, 400.0
TIMES: dict[str, Any] = {"click_window": WINDOW, "retention": KEPT}
BOTH = {"desktop": POSITIONS, "mobile": POSITIONS[:2]}
PAGES = {
    "plain": PageSpec(positions=POSITIONS, holdout=0.3, **TIMES),
    "viewed": PageSpec(layouts=BOTH, segments=["new"], count="viewed", **TIMES),
    "fading": PageSpec(layouts=BOTH, segments=["new"], half_life=HALF_LIFE, holdout=0.3, **TIMES),
}
QUICK = [Phase.explicit, Phase.generate]  # no shrinking, which takes minutes: enable it when a history fails
MEMORY = Path("/dev/shm")  # a file system in memory, where the machine has one

pages = st.sampled_from(list(PAGES))
few_ids = st.sampled_from([None, None, "a", "b", "c"])
units = st.sampled_from([None, "anna", "bob", "carla"])
requests = st.tuples(pages, few_ids, st.booleans(), st.booleans(), st.sampled_from([None, None, ["hat"], []]), units)
kinds = st.sampled_from([EventKind.CLICK, EventKind.CLICK, EventKind.CLICK, EventKind.VIEW, EventKind.DISCARD])
event_ids = st.sampled_from([None, None, None, *"stuvwxyz"])
which = st.integers(0, 11)  # index of a recent display, counted from the newest
events = st.tuples(which, kinds, st.sampled_from(POSITIONS), event_ids, st.booleans())


class History(RuleBasedStateMachine):
    """A sequence of services on the same store."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.runner, self.clock, self.plain, self.crashes = asyncio.Runner(), ManualClock(), PlainModel(), 0
        self.path = self.folder / "store.db"
        self.specs: dict[str, dict[str, ItemSpec]] = {}  # page -> item -> definition
        self.kept_units: dict[Any, tuple[str, int]] = {}  # (page, allocation, mode, unit) -> variant, bucket
        self.answered = [("nothing", 0)]  # (id, nonce) of all displays, including those lost by a crash
        self.runner.run(self._open())
        self.runner.run(self._define())

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.service.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    async def _open(self) -> None:
        self.service = Service(self.path, self.clock, seed=0)
        await self.service.open()
        await self.service.compile()
        for name in self.plain.pages:
            await self.service.model(name)

    async def _define(self) -> None:
        for name, spec in PAGES.items():
            assert check_page(spec) == []
            await self.service.save_page(name, lambda _, spec=spec: NO_PAGE.with_spec(spec), None)
            await self.service.save_items(await self.service.model(name), [(item, ItemSpec()) for item in ITEMS])
            self.plain.pages[name] = PlainPage(spec.half_life, self.clock.now)
            self.specs[name] = {item: ItemSpec() for item in ITEMS}

    # displays

    @rule(requested=st.lists(requests, min_size=1, max_size=4))
    def issue(self, requested: list[Any]) -> None:
        for request in requested:
            self.runner.run(self._issue(*request))

    async def _issue(
        self, page: str, id: str | None, small: bool, new: bool, eligible: list[str] | None, unit: str | None
    ) -> None:
        spec = (await self.service.model(page)).page.body.spec
        layout = list(spec.all_layouts())[-1 if small else 0]
        segment = "new" if new and spec.segments else ""
        known = self.plain.log.get(id or "")
        asking = self.service.recommend(page, RecommendationRequest(id, layout, segment or None, eligible, unit=unit))
        if known is not None and (known.page, known.layout, known.segment) != (page, layout, segment):
            with pytest.raises(Conflict, match="was used for another page, layout or segment"):
                await asking
            return
        model, display, fresh = await asking
        items = {entry.position: model.names[entry.item] for entry in display.entries}
        assert fresh == (known is None)
        if known is not None:
            assert (display.nonce, items) == (known.nonce, known.items)
            return
        counting, now = "never" if spec.mode == "off" else spec.count, self.clock.now
        until, dropped = now + WINDOW, now + KEPT + DROP_MARGIN
        epoch, allocation = self.plain.pages[page].epoch, self.plain.pages[page].allocation
        if unit is not None:  # the variant and the bucket stay the same, until the shares change
            kept = (display.variant, display.bucket)
            assert self.kept_units.setdefault((page, allocation, spec.mode, unit), kept) == kept
        self.plain.issue(
            PlainDisplay(
                display.id,
                display.nonce,
                page,
                layout,
                segment,
                display.variant,
                now,
                until,
                dropped,
                epoch,
                counting,
                items,
                allocation,
                display.bucket,
            )
        )
        self.answered.append((display.id, display.nonce))

    # events

    @rule(about=st.lists(events, max_size=6))
    def send(self, about: list[Any]) -> None:
        events = self._events(about)
        recorded = self.runner.run(self.service.record_events(events))
        assert [outcome.status for outcome in recorded.outcomes] == self._wanted(self.plain, events)

    def _events(self, about: list[Any]) -> list[Event]:
        named = [self.answered[-1 - back % len(self.answered)] for back, *_ in about]
        return [
            Event(kind, id, nonce if token else None, None, position if kind is EventKind.CLICK else None, event)
            for (id, nonce), (_, kind, position, event, token) in zip(named, about, strict=True)
        ]

    def _wanted(self, plain: PlainModel, events: list[Event]) -> list[str]:
        return [plain.record(event, self.clock.now) for event in events]

    # stops, crashes and restarts

    @rule(
        requested=st.lists(requests, max_size=4),
        about=st.lists(events, max_size=4),
        wait=st.sampled_from([None, 0.0, 0.0005, 0.002, 1.0]),
    )
    def end(self, requested: list[Any], about: list[Any], wait: float | None) -> None:
        """A clean stop, or a crash while events wait to be committed.

        Lost displays are requested again. Events without an answer are sent again and count once.
        """
        issued, events = len(self.answered), self._events(about)
        for request in requested:
            self.runner.run(self._issue(*request))
        answered = self.runner.run(self._stop(events) if wait is None else self._crash(events, wait))
        self.runner.run(self._open())
        lost = {id for id, _ in self.answered[issued:] if not self.runner.run(self._committed(id))}
        assert not (answered and lost), "displays are committed before later events"
        self.plain.lose(lost)
        for request in requested:
            self.runner.run(self._issue(*request))
        first_statuses, repeated_statuses = (
            self._wanted(self.plain, events),
            self._wanted(copy.deepcopy(self.plain), events),
        )
        recorded = self.runner.run(self.service.record_events(events))
        assert [outcome.status for outcome in recorded.outcomes] in (
            [repeated_statuses] if answered else [first_statuses, repeated_statuses]
        )

    async def _stop(self, events: list[Event]) -> bool:
        sending = asyncio.ensure_future(self.service.record_events(events))
        await asyncio.sleep(0)
        await self.service.close()
        await sending
        return True

    async def _crash(self, events: list[Event], wait: float) -> bool:
        """Copy the files as a crash leaves them. Returns whether the events were answered before."""
        sending = asyncio.ensure_future(self.service.record_events(events))
        await asyncio.wait([sending], timeout=wait)
        answered, image = sending.done(), self.folder / f"after-crash-{self.crashes}.db"
        for ending in ("", "-wal"):
            shutil.copy(f"{self.path}{ending}", f"{image}{ending}")
        await sending
        await self.service.close()
        self.path, self.crashes = image, self.crashes + 1
        return answered

    async def _committed(self, id: str) -> bool:
        return await self.service.store.do(lambda ledger: ledger.display(id)) is not None

    # time and changes of pages

    @rule(seconds=st.sampled_from([1.0, 30.0, 60.0, 110.0, -110.0, 3600.0, -3600.0, KEPT + DROP_MARGIN + 1.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.runner.run(self.service.tick())
        self.plain.pass_time(self.clock.now)

    @rule(
        name=pages,
        mode=st.sampled_from(["learn", "learn", "shadow", "off"]),
        item=st.sampled_from([*ITEMS[1:], "new"]),
        state=st.sampled_from(["active", "retired"]),
    )
    def change(self, name: str, mode: Any, item: str, state: Any) -> None:
        async def save() -> None:
            await self.service.save_page(name, lambda page: _in_mode(page, mode), None)
            await self.service.save_items(await self.service.model(name), [(item, ItemSpec(state))])

        self.runner.run(save())
        self.specs[name][item] = ItemSpec(state)

    @rule(name=pages, holdout=st.sampled_from([0.3, 0.6]), learnt_share=st.sampled_from([1.0, 0.5]))
    def change_shares(self, name: str, holdout: float, learnt_share: float) -> None:
        changed: list[bool] = []

        def change(page: StoredPage | None) -> PageBody:
            assert page is not None
            spec = msgspec.structs.replace(page.body.spec, holdout=holdout, learnt_share=learnt_share)
            changed.append(spec != page.body.spec)
            return page.body.with_spec(spec)

        self.runner.run(self.service.save_page(name, change, None))
        self.plain.pages[name].allocation += changed[-1]

    @rule(name=pages, size=st.integers(1, 3))
    def change_positions(self, name: str, size: int) -> None:
        """Positions and segments are removed and return. What is folded leaves memory, and returns with its counts."""

        def resized(page: StoredPage | None) -> PageBody:
            assert page is not None
            spec, first = page.body.spec, PAGES[name]
            layouts = first.layouts and {layout: positions[:size] for layout, positions in first.layouts.items()}
            positions = first.positions and first.positions[:size]
            segments = first.segments if size > 1 else []
            return page.body.with_spec(
                msgspec.structs.replace(spec, positions=positions, layouts=layouts, segments=segments)
            )

        self.runner.run(self.service.save_page(name, resized, None))

    @rule(name=pages, item=st.sampled_from([*ITEMS[1:], "new"]), views=st.sampled_from([None, 10.0, 20.0]))
    def change_two_fields_at_once(self, name: str, item: str, views: float | None) -> None:
        """Two calls that change different fields of one item; both hold. An item that does not exist stays so."""
        prior = None if views is None else ItemPrior(1.0, views)
        patches = [ItemPatch(prior=prior), ItemPatch(state="paused")]

        async def save() -> list[Any]:
            model = await self.service.model(name)
            calls = [self.service.change_item(model, item, patch.applied, None) for patch in patches]
            return await asyncio.gather(*calls, return_exceptions=True)

        results = self.runner.run(save())
        if item in self.specs[name]:
            self.specs[name][item] = ItemSpec("paused", prior)
            first, second = (saved.version for saved, _ in results)
            assert second - first in (0, 1)
        else:
            assert [type(result) for result in results] == [NotFound, NotFound]

    @rule(name=pages, segment=st.integers(0, 1), clicks=st.integers(0, 5), skips=st.floats(0.0, 5.0))
    def import_counts(self, name: str, segment: int, clicks: int, skips: float) -> None:
        async def take() -> tuple[str, str, str, str]:
            model = await self.service.model(name)
            segment_number = min(segment, len(model.page.body.segments) - 1)
            await self.service.import_counts(model, np.array([[1, segment_number, 0, clicks, skips]]), 7.0, None)
            return (model.names[1], model.page.body.segments[segment_number], *model.page.body.columns[0])

        self.plain.import_counts(name, {self.runner.run(take()): [float(clicks), skips]}, 7.0)

    # invariants

    @invariant()
    def memory_store_and_model_agree(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self._agree())
            assert verify(self.path).differences == []

    async def _agree(self) -> None:
        for name in PAGES:
            model = await self.service.model(name)
            number, (wanted, displays) = model.page.number, self.plain.counts(name)
            allocation = self.plain.pages[name].allocation
            kept, rates, items, logged, *daily = await self.service.store.do(
                lambda ledger, n=number, last=allocation: (
                    ledger.counts(n),
                    ledger.rates(n),
                    ledger.items(n),
                    ledger.logged(n),
                    ledger.daily_rates(n, last),
                    ledger.daily_rates(n, last - 1),
                )
            )
            dropped_early = [mine & theirs for mine, theirs in zip(model.folded, logged, strict=True)]
            assert not any(dropped_early), "events can still change counts that have left memory"
            assert dict(items) == dict(zip(model.names, model.specs, strict=True)) == self.specs[name]
            assert min([0.0, *(n for cell in kept.cells for n in cell[3:])]) == 0.0
            assert named(model, kept.cells) == near(wanted)
            in_memory = _without_folded(model, kept.cells)
            assert named(model, _without_folded(model, model.cells())) == near(named(model, in_memory, exact=True))
            assert kept.displays == pytest.approx(displays)
            assert model.counts().displays == pytest.approx(displays)
            stored = {
                (rate.hour, rate.variant): [rate.displays, rate.shown, rate.clicks] for rate in rates if rate.displays
            }
            assert stored == {key: rate for key, rate in self.plain.rates[name].items() if rate[0]}
            for k, days in enumerate(daily):
                assert {(day, variant, bucket): counts for day, variant, bucket, *counts in days} == {
                    key: [displays, clicks, float(clicks)]  # every click has the value 1
                    for key, (displays, _, clicks) in self.plain.days[name, allocation - k].items()
                    if displays
                }


def _in_mode(page: StoredPage | None, mode: Any) -> PageBody:
    assert page is not None
    return page.body.with_spec(msgspec.structs.replace(page.body.spec, mode=mode))


def _without_folded(model: Any, cells: list[CellCounts]) -> list[CellCounts]:
    items, columns, segments = model.folded
    return [
        cell for cell in cells if cell.item not in items and cell.column not in columns and cell.segment not in segments
    ]


def named(model: Any, cells: list[CellCounts], exact: bool = False) -> dict[tuple[str, ...], Any]:
    """Counts by name, without those that have faded to zero."""
    body = model.page.body
    return {
        (model.names[item], body.segments[segment], *body.columns[column]): [clicks, skips]
        if exact
        else pytest.approx([clicks, skips], abs=1e-9)
        for item, segment, column, clicks, skips in cells
        if max(clicks, skips) > 1e-9
    }


def near(wanted: dict[Any, list[float]]) -> dict[Any, list[float]]:
    return {key: cell for key, cell in wanted.items() if max(cell) > 1e-9}


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=pytest.mark.soak)])
def test_any_history(examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "slotwise.service.store.tables.display_log.IDS_PER_EVENT", 1
    )  # few ids are enough to reach the limit
    health = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example]
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            phases=QUICK,
            suppress_health_check=health,
        ),
    )
