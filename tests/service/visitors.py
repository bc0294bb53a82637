"""Visitors that remember every answer, and so know what a service may neither lose nor count twice."""

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
    """A display as its visitor knows it, with the registers that were acknowledged."""

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
    """Requests displays, clicks and discards, repeats itself, and sends again what was not answered."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.rng = name, random.Random(seed)
        self.seen: dict[str, VisitedDisplay] = {}
        self.requested: str | None = None  # the id of a display that was requested and not answered
        self.unanswered: list[Action] = []
        self.accepted = 0

    async def visit(self, http: httpx.AsyncClient, clean: bool) -> None:
        """Until the service ends; a clean stop loses nothing that was answered."""
        try:
            await self.send_again(http)
            while True:
                await self._request_display(http)
                await self._send(http, self._actions())
        except httpx.TransportError:
            for action in self.unanswered:
                self.seen[action.display].doubtful.add(action.register)
            for one in self.seen.values():
                one.survived = (clean and one.survived) or bool(one.acknowledged)

    async def send_again(self, http: httpx.AsyncClient) -> None:
        """Send the events again that were not answered."""
        await self._send(http, self.unanswered)

    async def _request_display(self, http: httpx.AsyncClient) -> None:
        again, id = self.requested is not None, self.requested or f"{self.name}-{len(self.seen)}"
        self.requested = id
        answer = await http.post("/v1/pages/shop/recommendations", json={"id": id})
        assert answer.status_code in ((200, 201) if again else (201,)), answer.text
        shown = answer.json()
        assert not shown["degraded"]
        self.requested, self.seen[id] = None, VisitedDisplay(shown)

    def _actions(self) -> list[Action]:
        """Actions on some displays, including old ones, some of them twice."""
        recent = list(self.seen)[-self.rng.choice((1, 3, 30)) :]
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
            self.seen[action.display].answered(action.register, result["status"])
            self.accepted += result["status"] == "accepted"

    def _event(self, action: Action) -> dict[str, str]:
        event = {"display": action.display, "type": DISCARD}
        if action.register != DISCARD:
            named = (
                {"token": self.seen[action.display].token} if self.rng.random() < 0.5 else {"display": action.display}
            )
            event = named | {"type": "click", "position": action.register}
        return event | ({"id": f"{action.display}:{action.register}"} if self.rng.random() < 0.5 else {})


def check(visitors: list[Visitor], log: list[dict[str, Any]], state: dict[str, Any]) -> int:
    """Compare log and counts of the service with what the visitors know. Returns how many displays were lost."""
    seen = {id: one for visitor in visitors for id, one in visitor.seen.items()}
    requested = {visitor.requested for visitor in visitors}
    logged: dict[str, dict[str, dict[str, Any]]] = {}
    for line in log:
        logged.setdefault(line["display"], {})[line["position"]] = line
    clicks, skips, displays = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    for id, lines in logged.items():
        one = seen.get(id)
        assert one is not None or id in requested, f"{id} was never requested"
        counts = one is None or DISCARD not in one.acknowledged
        displays += counts
        for position, line in lines.items():
            clicked = one is not None and position in one.acknowledged
            assert (line["shown"], line["clicked"]) == (counts, counts and clicked), (id, line)
            assert one is None or line["item"] == one.items[position]
            (clicks if clicked else skips)[line["item"], position] += counts
    lost = seen.keys() - logged.keys()
    assert not [id for id in lost if seen[id].acknowledged], "an acknowledged event is lost"
    assert not [id for id in logged if id in seen and seen[id].lost], "a display was unknown and is there"
    kept = {(cell["item"], cell["position"]): (cell["clicks"], cell["skips"]) for cell in state["counts"]}
    assert kept == {key: (clicks[key], skips[key]) for key in clicks | skips if clicks[key] or skips[key]}
    assert state["displays"] == displays
    return len(lost)
