"""Runs a flow of the client against a script of answers, with a clock that a test sets. Nothing waits."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from slotwise_client.flow import Answer, Exchange, Flow, NoAnswer, Post, ResultT, Wait

REFUSED = NoAnswer("connection refused", sent=False)
LOST = NoAnswer("no answer in time")


def answer(status: int, body: Any = None, retry_after: float | None = None) -> Answer:
    return Answer(status, json.dumps(body).encode(), retry_after)


def problem(status: int, detail: str = "no", *pointers: str, retry_after: float | None = None) -> Answer:
    errors = [{"pointer": pointer, "detail": detail} for pointer in pointers]
    return answer(status, {"status": status, "detail": detail, "errors": errors}, retry_after)


def display_answer(*items: str, variant: str = "learnt", layout: str = "default") -> Answer:
    rows = [{"position": f"p{k}", "item": item, "reason": "learnt"} for k, item in enumerate(items)]
    body = {"id": "d", "token": "d.t", "page": "shop", "layout": layout, "variant": variant}
    return answer(201, body | {"items": rows, "left_out": [], "degraded": False, "warming": False})


class ScriptedService:
    """Gives the answers of a script, one for each request, and records the requests. `now` moves with every pause."""

    def __init__(self, *script: Exchange | Callable[[Post], Exchange]) -> None:
        self.script = list(script)
        self.posts: list[Post] = []
        self.waits: list[float] = []
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def bodies(self) -> list[Any]:
        return [json.loads(post.content) for post in self.posts]

    def run(self, flow: Flow[ResultT]) -> ResultT:
        """Carry out a flow until it ends. It must need no more answers than there are."""
        result: Exchange | None = None
        try:
            while True:
                result = self._step(flow.send(result))
        except StopIteration as end:
            value: ResultT = end.value
            return value

    def run_posts(self, flow: Flow[Any], number: int) -> None:
        """Carry out a flow that does not end by itself, until it has received the answer to so many requests."""
        end = len(self.posts) + number
        result: Exchange | None = None
        while True:
            step = flow.send(result)
            if isinstance(step, Wait) and len(self.posts) >= end:
                return
            result = self._step(step)

    def _step(self, step: Post | Wait) -> Exchange | None:
        if isinstance(step, Wait):
            self.waits.append(step.seconds)
            self.now += step.seconds
            return None
        self.posts.append(step)
        assert self.script, f"one request too many: {step}"
        reply = self.script.pop(0)
        return reply(step) if callable(reply) else reply


def statuses_of(*statuses: str) -> Answer:
    return answer(200, {"results": [{"status": status} for status in statuses]})


def accept_all(post: Post) -> Exchange:
    return statuses_of(*["accepted"] * len(json.loads(post.content)["events"]))


def ids(body: Any) -> list[str]:
    return [event["id"] for event in body["events"]]


def joined(parts: Iterable[list[str]]) -> list[str]:
    return [each for part in parts for each in part]
