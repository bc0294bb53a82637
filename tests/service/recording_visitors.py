"""Visitors that remember every response, and thus know which events a service must keep and count once."""

import random
from collections import Counter
from typing import Any, NamedTuple

import httpx

from tests.service.running_service import POSITIONS

DISCARD = "discard"


class Action(NamedTuple):
    """A click on a position of a display, or its discard."""

    display: str
    register: str


class VisitedDisplay:
    """A display from the point of view of its visitor, with the acknowledged registers."""

    def __init__(self, shown: dict[str, Any]) -> None:
        self.items = {row["position"]: row["item"] for row in shown["items"]}
        self.token = shown["token"]
        self.acknowledged: set[str] = set()
        self.doubtful: set[str] = set()  # sent, but not answered
        self.survived = True  # no crash since it was issued, or an event was accepted: the service must know it
        self.lost = False

    def answered(self, register: str, status: str) -> None:
        assert status in self._possible(register), (register, status, self.acknowledged, self.doubtful, self.survived)
        self.lost = status == "unknown"
        if not self.lost:
            self.survived = True
            self.acknowledged.add(register)
            self.doubtful.discard(register)

    def _possible(self, register: str) -> set[str]:
        if self.lost:
            return {"unknown"}
        if register in self.acknowledged or DISCARD in self.acknowledged:
            return {"duplicate"}
        either = {"accepted", "duplicate"} if register in self.doubtful else {"accepted"}
        return either if self.survived else either | {"unknown"}


class Visitor:
    """Requests displays, clicks and discards, sends some events twice, and resends unanswered ones."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.rng = name, random.Random(seed)
        self.displays: dict[str, VisitedDisplay] = {}
        self.requested: str | None = None  # the id of a display that was requested and not answered
        self.unanswered: list[Action] = []
        self.accepted = 0

    async def visit(self, http: httpx.AsyncClient, clean: bool) -> None:
        """Visit until the service ends; a clean stop loses nothing that was answered."""
        try:
            await self.send_again(http)
            while True:
                await self._request_display(http)
                await self._send(http, self._actions())
        except httpx.TransportError:
            for action in self.unanswered:
                self.displays[action.display].doubtful.add(action.register)
            for display in self.displays.values():
                display.survived = (clean and display.survived) or bool(display.acknowledged)

    async def send_again(self, http: httpx.AsyncClient) -> None:
        """Resend the unanswered events."""
        await self._send(http, self.unanswered)

    async def _request_display(self, http: httpx.AsyncClient) -> None:
        again, id = self.requested is not None, self.requested or f"{self.name}-{len(self.displays)}"
        self.requested = id
        answer = await http.post("/v1/pages/shop/recommendations", json={"id": id})
        assert answer.status_code in ((200, 201) if again else (201,)), answer.text
        shown = answer.json()
        assert not shown["degraded"]
        self.requested, self.displays[id] = None, VisitedDisplay(shown)

    def _actions(self) -> list[Action]:
        """Actions on some displays, including old ones, some of them twice."""
        recent = list(self.displays)[-self.rng.choice((1, 3, 30)) :]
        actions = [Action(self.rng.choice(recent), self._register()) for _ in range(self.rng.randrange(1, 12))]
        return actions + actions[: self.rng.randrange(3)]

    def _register(self) -> str:
        return DISCARD if self.rng.random() < 0.1 else self.rng.choice(POSITIONS)

    async def _send(self, http: httpx.AsyncClient, actions: list[Action]) -> None:
        if not actions:
            return
        self.unanswered = actions
        answer = await http.post("/v1/events", json={"events": [self._event(action) for action in actions]})
        assert answer.status_code == 200, answer.text
        self.unanswered = []
        for action, result in zip(actions, answer.json()["results"], strict=True):
            self.displays[action.display].answered(action.register, result["status"])
            self.accepted += result["status"] == "accepted"

    def _event(self, action: Action) -> dict[str, str]:
        event = {"display": action.display, "type": DISCARD}
        if action.register != DISCARD:
            named = (
                {"token": self.displays[action.display].token}
                if self.rng.random() < 0.5
                else {"display": action.display}
            )
            event = named | {"type": "click", "position": action.register}
        return event | ({"id": f"{action.display}:{action.register}"} if self.rng.random() < 0.5 else {})


def check(visitors: list[Visitor], log: list[dict[str, Any]], state: dict[str, Any]) -> int:
    """Compare log and counts of the service with the visitors' records. Returns the number of lost displays."""
    displays_by_id = {id: display for visitor in visitors for id, display in visitor.displays.items()}
    requested = {visitor.requested for visitor in visitors}
    logged: dict[str, dict[str, dict[str, Any]]] = {}
    for line in log:
        logged.setdefault(line["display"], {})[line["position"]] = line
    clicks, skips, displays = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    for id, lines in logged.items():
        display = displays_by_id.get(id)
        assert display is not None or id in requested, f"{id} was never requested"
        counts = display is None or DISCARD not in display.acknowledged
        displays += counts
        for position, line in lines.items():
            clicked = display is not None and position in display.acknowledged
            assert (line["shown"], line["clicked"]) == (counts, counts and clicked), (id, line)
            assert display is None or line["item"] == display.items[position]
            (clicks if clicked else skips)[line["item"], position] += counts
    lost = displays_by_id.keys() - logged.keys()
    assert not [id for id in lost if displays_by_id[id].acknowledged], "an acknowledged event is lost"
    for id in logged:
        assert id not in displays_by_id or not displays_by_id[id].lost, "a lost display is in the log"
    kept = {(cell["item"], cell["position"]): (cell["clicks"], cell["skips"]) for cell in state["counts"]}
    assert kept == {key: (clicks[key], skips[key]) for key in clicks | skips if clicks[key] or skips[key]}
    assert state["displays"] == displays
    return len(lost)
