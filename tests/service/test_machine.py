"""A service told anything in any order, against a plain dictionary of registers that knows no store.

The model keeps, for each display, what was accepted; counts are recomputed from it from scratch. Steps: displays,
clicks, views, discards, repeats, late ones, reused ids, conflicts, restarts, imports, pruning, fading of nothing.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from slotwise.service.verify import verify

from .serving import POSITIONS, Client, HandClock, client

WINDOW, KEPT = 100.0, 1000.0
MARGIN = 7200.0


class Registers(RuleBasedStateMachine):
    """Two pages: one counts from the issue of a display, one from its first view."""

    displays = Bundle("displays")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = HandClock()
        self.runner = asyncio.Runner()
        self.known: dict[str, dict[str, Any]] = {}
        self.ids: dict[str, tuple[Any, ...]] = {}
        self.base: dict[str, dict[tuple[str, str], list[float]]] = {"issued": {}, "viewed": {}}
        self.start()
        for count in ("issued", "viewed"):
            self.run(self.one.page(count, count=count, click_window=WINDOW, retention=KEPT))

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def start(self) -> None:
        self.living = client(Path(self.folder.name), self.clock)
        self.one: Client = self.run(self.living.__aenter__())

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self.living.__aexit__(None, None, None))
            self.runner.close()
            assert verify(Path(self.folder.name) / "store.db").differences == []
            self.folder.cleanup()

    @rule(target=displays, page=st.sampled_from(["issued", "viewed"]), name=st.sampled_from([None, "a", "b", "c"]))
    def recommend(self, page: str, name: str | None) -> str:
        path = f"/v1/pages/{page}/recommendations"
        answer = self.run(self.one.http.post(path, json={} if name is None else {"id": name}))
        if name in self.known:
            known = self.known[name]
            assert answer.status_code == (200 if known["page"] == page else 409)
            if answer.status_code == 200:
                assert [(row["position"], row["item"]) for row in answer.json()["items"]] == known["items"]
            return name
        assert answer.status_code == 201, answer.text
        shown = answer.json()
        self.known[shown["id"]] = {
            "page": page,
            "items": [(row["position"], row["item"]) for row in shown["items"]],
            "token": shown["token"],
            "issued": self.clock.now,
            "begun": page == "issued",
            "viewed": False,
            "clicked": set(),
            "discarded": False,
            "counts": True,
        }
        return str(shown["id"])

    @rule(
        display=displays,
        kind=st.sampled_from(["click", "click", "view", "discard"]),
        position=st.sampled_from(POSITIONS),
        event=st.sampled_from([None, None, "e1", "e2"]),
        times=st.integers(1, 2),
        by_token=st.booleans(),
    )
    def send(self, display: str, kind: str, position: str, event: str | None, times: int, by_token: bool) -> None:
        known = self.known.get(display)
        body: dict[str, Any] = {"type": kind}
        if kind == "click":
            body["position"] = position
        if event is not None:
            body["id"] = event
        if by_token and known is not None and kind != "discard":
            body["token"] = known["token"]
            if self.clock.now > known["issued"] + WINDOW:
                assert self.run(self.one.send(body)) == ["rejected"]
                return
        else:
            body["display"] = display
        wanted = [self.expect(display, kind, position if kind == "click" else None, event) for _ in range(times)]
        assert self.run(self.one.send(*[body] * times)) == wanted

    def expect(self, display: str, kind: str, position: str | None, event: str | None) -> str:
        """What the contract says of one event, and the model after it."""
        known = self.known.get(display)
        if known is None:
            return "unknown"
        about = (display, kind, position)
        if event is not None and self.ids.get(event, about) != about:
            return "conflict"
        status = self.decide(known, kind, position)
        if event is not None and status != "duplicate":
            self.ids[event] = about
        return status

    def decide(self, known: dict[str, Any], kind: str, position: str | None) -> str:
        if known["discarded"]:
            return "duplicate"
        if kind == "discard":
            known["discarded"] = True
            return "accepted"
        if position in known["clicked"] if kind == "click" else known["viewed"]:
            return "duplicate"
        if self.clock.now > known["issued"] + WINDOW:
            return "late"
        known["begun"] = True
        if kind == "click":
            known["clicked"].add(position)
        else:
            known["viewed"] = True
        return "accepted"

    @rule(seconds=st.sampled_from([1.0, 60.0, 101.0, 3600.0, -3600.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def restart(self) -> None:
        self.run(self.living.__aexit__(None, None, None))
        self.start()

    @rule(seconds=st.sampled_from([0.0, KEPT + MARGIN + 1.0]))
    def prune(self, seconds: float) -> None:
        self.clock.now += seconds
        self.run(self.one.service.tick())
        for name, known in list(self.known.items()):
            if known["issued"] + KEPT + MARGIN < self.clock.now:
                for key, (clicks, skips) in counted(known).items():
                    cell = self.base[known["page"]].setdefault(key, [0.0, 0.0])
                    cell[0] += clicks
                    cell[1] += skips
                del self.known[name]
                self.ids = {event: about for event, about in self.ids.items() if about[0] != name}

    @rule(page=st.sampled_from(["issued", "viewed"]), clicks=st.integers(0, 5), skips=st.integers(0, 5))
    def import_counts(self, page: str, clicks: int, skips: int) -> None:
        cell = {"item": "hat", "layout": "default", "position": "left", "clicks": clicks, "skips": skips}
        self.run(self.one.ok("PUT", f"/v1/pages/{page}/state", {"displays": 1, "counts": [cell]}))
        self.base[page] = {("hat", "left"): [float(clicks), float(skips)]}
        for known in self.known.values():
            known["counts"] = known["counts"] and known["page"] != page

    @invariant()
    def counts_are_the_fold_of_the_registers(self) -> None:
        if not hasattr(self, "one"):
            return
        for page in ("issued", "viewed"):
            wanted = {key: list(cell) for key, cell in self.base[page].items()}
            for known in self.known.values():
                if known["page"] == page:
                    for key, (clicks, skips) in counted(known).items():
                        cell = wanted.setdefault(key, [0.0, 0.0])
                        cell[0] += clicks
                        cell[1] += skips
            wanted = {key: cell for key, cell in wanted.items() if any(cell)}
            state = self.run(self.one.ok("GET", f"/v1/pages/{page}/state"))
            kept = {(row["item"], row["position"]): [row["clicks"], row["skips"]] for row in state["counts"]}
            assert kept == wanted
            assert self.in_memory(page) == wanted

    def in_memory(self, page: str) -> dict[tuple[str, str], list[float]]:
        model = self.run(self.one.service.model(page))
        columns = model.page.body.columns
        return {(model.names[cell.item], columns[cell.column][1]): [cell.clicks, cell.skips] for cell in model.cells()}


def counted(known: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    if not known["begun"] or known["discarded"] or not known["counts"]:
        return {}
    return {(item, position): (1, 0) if position in known["clicked"] else (0, 1) for position, item in known["items"]}


Registers.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes
    suppress_health_check=list(HealthCheck),
)
test_registers = Registers.TestCase
