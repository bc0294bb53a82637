"""Visitors that remember what they were answered: an oracle of what a service may neither forget nor count twice."""

import random
from collections import Counter
from typing import Any, NamedTuple

import httpx

from tests.service.running_service import POSITIONS

DISCARD = "discard"


class Deed(NamedTuple):
    """A click on a position of a display, or its discard."""

    display: str
    register: str


class Seen:
    """A display as its visitor saw it, and the registers that moved for all he was told."""

    def __init__(self, shown: dict[str, Any]) -> None:
        self.items = {row["position"]: row["item"] for row in shown["items"]}
        self.token = shown["token"]
        self.moved: set[str] = set()
        self.doubtful: set[str] = set()  # sent, never answered
        self.survived = True  # no crash since it was issued, or an event about it was accepted: it must be known
        self.lost = False

    def answered(self, register: str, status: str) -> None:
        assert status in self._possible(register), (register, status, self.moved, self.doubtful, self.survived)
        self.lost = status == "unknown"
        if not self.lost:
            self.survived = True
            self.moved.add(register)
            self.doubtful.discard(register)

    def _possible(self, register: str) -> set[str]:
        if self.lost:
            return {"unknown"}
        if register in self.moved or DISCARD in self.moved:
            return {"duplicate"}
        either = {"accepted", "duplicate"} if register in self.doubtful else {"accepted"}
        return either if self.survived else either | {"unknown"}


class Visitor:
    """Looks at displays, clicks and discards, says things twice, and asks again about what was not answered."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.rng = name, random.Random(seed)
        self.seen: dict[str, Seen] = {}
        self.asked: str | None = None  # a display that was asked for and not answered
        self.unanswered: list[Deed] = []
        self.accepted = 0

    async def visit(self, http: httpx.AsyncClient, clean: bool) -> None:
        """Until the service is gone; a clean end takes nothing with it that was answered."""
        try:
            await self.ask_again(http)
            while True:
                await self._look(http)
                await self._send(http, self._deeds())
        except httpx.TransportError:
            for deed in self.unanswered:
                self.seen[deed.display].doubtful.add(deed.register)
            for one in self.seen.values():
                one.survived = (clean and one.survived) or bool(one.moved)

    async def ask_again(self, http: httpx.AsyncClient) -> None:
        """Say once more what was not answered."""
        await self._send(http, self.unanswered)

    async def _look(self, http: httpx.AsyncClient) -> None:
        again, id = self.asked is not None, self.asked or f"{self.name}-{len(self.seen)}"
        self.asked = id
        answer = await http.post("/v1/pages/shop/recommendations", json={"id": id})
        assert answer.status_code in ((200, 201) if again else (201,)), answer.text
        shown = answer.json()
        assert not shown["degraded"]
        self.asked, self.seen[id] = None, Seen(shown)

    def _deeds(self) -> list[Deed]:
        """What to say about some displays, old ones too, and some of it twice."""
        recent = list(self.seen)[-self.rng.choice((1, 3, 30)) :]
        deeds = [Deed(self.rng.choice(recent), self._register()) for _ in range(self.rng.randrange(1, 12))]
        return deeds + deeds[: self.rng.randrange(3)]

    def _register(self) -> str:
        return DISCARD if self.rng.random() < 0.1 else self.rng.choice(POSITIONS)

    async def _send(self, http: httpx.AsyncClient, deeds: list[Deed]) -> None:
        if not deeds:
            return
        self.unanswered = deeds
        answer = await http.post("/v1/events", json={"events": [self._event(deed) for deed in deeds]})
        assert answer.status_code == 200, answer.text
        self.unanswered = []
        for deed, result in zip(deeds, answer.json()["results"], strict=True):
            self.seen[deed.display].answered(deed.register, result["status"])
            self.accepted += result["status"] == "accepted"

    def _event(self, deed: Deed) -> dict[str, str]:
        event = {"display": deed.display, "type": DISCARD}
        if deed.register != DISCARD:
            named = {"token": self.seen[deed.display].token} if self.rng.random() < 0.5 else {"display": deed.display}
            event = named | {"type": "click", "position": deed.register}
        return event | ({"id": f"{deed.display}:{deed.register}"} if self.rng.random() < 0.5 else {})


def check(visitors: list[Visitor], log: list[dict[str, Any]], state: dict[str, Any]) -> int:
    """What the service has is what the visitors were told, register by register; how many displays were lost."""
    seen = {id: one for visitor in visitors for id, one in visitor.seen.items()}
    asked = {visitor.asked for visitor in visitors}
    logged: dict[str, dict[str, dict[str, Any]]] = {}
    for line in log:
        logged.setdefault(line["display"], {})[line["position"]] = line
    clicks, skips, displays = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    for id, lines in logged.items():
        one = seen.get(id)
        assert one is not None or id in asked, f"{id} was never asked for"
        counts = one is None or DISCARD not in one.moved
        displays += counts
        for position, line in lines.items():
            clicked = one is not None and position in one.moved
            assert (line["shown"], line["clicked"]) == (counts, counts and clicked), (id, line)
            assert one is None or line["item"] == one.items[position]
            (clicks if clicked else skips)[line["item"], position] += counts
    lost = seen.keys() - logged.keys()
    assert not [id for id in lost if seen[id].moved], "an acknowledged event is lost"
    assert not [id for id in logged if id in seen and seen[id].lost], "a display was unknown and is there"
    kept = {(cell["item"], cell["position"]): (cell["clicks"], cell["skips"]) for cell in state["counts"]}
    assert kept == {key: (clicks[key], skips[key]) for key in clicks | skips if clicks[key] or skips[key]}
    assert state["displays"] == displays
    return len(lost)
