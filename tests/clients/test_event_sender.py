"""The background sender: every event gets exactly one outcome, whatever the service answers."""

from typing import Any

import pytest

from slotwise_client import Event, EventOutcome, Options
from slotwise_client.event_queue import EventQueue
from slotwise_client.event_sender import FIRST_BACKOFF, MOST_UNKNOWN, EventSender
from slotwise_client.flow import Exchange, Post
from slotwise_client.outcomes import Outcomes
from slotwise_client.tracing import Tracing
from tests.clients.scripted_service import (
    LOST,
    REFUSED,
    ScriptedService,
    accept_all,
    answer,
    ids,
    joined,
    problem,
    statuses_of,
)


class Sender:
    """A sender, its queue, and a scripted service."""

    def __init__(self, *script: Any, **options: Any) -> None:
        self.service = ScriptedService(*script)
        self.seen: list[EventOutcome] = []
        self.outcomes = Outcomes(self.seen.append)
        settings = Options(**options)
        self.queue = EventQueue(settings.queue_size, self.outcomes, self.service.clock)
        self.sender = EventSender(settings, {}, self.queue, Tracing(settings), self.service.clock)

    def click(self, *names: str) -> None:
        self.queue.add(Event("click", token="t", position=name, id=name) for name in names)

    def send_all(self) -> None:
        self.sender.hasten(closing=True)
        self.service.run(self.sender.flow())
        assert len(self.queue) == 0

    def statuses(self) -> dict[str, str]:
        assert len({outcome.event.id for outcome in self.seen}) == len(self.seen), "one outcome for each event"
        return {outcome.event.id: outcome.status for outcome in self.seen}


def test_events_are_sent_together_after_a_while() -> None:
    sender = Sender(accept_all)
    sender.click("a")
    sender.service.now += 0.3
    sender.click("b")
    sender.service.run_posts(sender.sender.flow(), 1)
    assert sender.service.waits == [pytest.approx(0.2)], "half a second after the first one"
    assert sender.service.bodies() == [
        {"events": [{"type": "click", "token": "t", "position": name, "id": name} for name in "ab"]}
    ]
    assert sender.statuses() == {"a": "accepted", "b": "accepted"}


def test_a_full_batch_is_sent_at_once() -> None:
    sender = Sender(accept_all, accept_all, batch_size=2)
    sender.click("a", "b", "c", "d", "e")
    sender.service.run_posts(sender.sender.flow(), 2)
    assert sender.service.waits == []
    assert list(map(ids, sender.service.bodies())) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("failure", [REFUSED, LOST, problem(503), problem(500), problem(408), answer(200, "<html>")])
def test_a_batch_that_fails_is_sent_again_with_the_same_ids(failure: Exchange) -> None:
    sender = Sender(*[failure] * 4, statuses_of("duplicate", "accepted"))
    sender.click("a", "b")
    sender.service.run_posts(sender.sender.flow(), 5)
    assert {post.content for post in sender.service.posts} == {sender.service.posts[0].content}
    assert sender.statuses() == {"a": "duplicate", "b": "accepted"}
    _, *pauses = sender.service.waits
    for doubled, pause in enumerate(pauses):
        assert FIRST_BACKOFF * 2**doubled / 2 <= pause <= FIRST_BACKOFF * 2**doubled


def test_pauses_have_a_limit() -> None:
    sender = Sender(*[REFUSED] * 50, accept_all, longest_backoff=1.5)
    sender.click("a")
    sender.service.run_posts(sender.sender.flow(), 51)
    assert 0.75 <= max(sender.service.waits) <= 1.5


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_honoured(status: int) -> None:
    sender = Sender(problem(status, retry_after=9.0), accept_all)
    sender.click("a")
    sender.service.run_posts(sender.sender.flow(), 2)
    assert sender.service.waits[1] == pytest.approx(9.0)


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_refusal_is_not_retried_and_says_so(status: int) -> None:
    sender = Sender(problem(status, "the key has no scope feedback"))
    sender.click("a", "b")
    sender.send_all()
    assert sender.statuses() == {"a": "dropped", "b": "dropped"}
    assert str(status) in sender.seen[0].detail
    assert "the key has no scope feedback" in sender.seen[0].detail


def test_an_invalid_event_does_not_take_the_others_with_it() -> None:
    sender = Sender(problem(422, "wrong", "/events/1/position"), problem(422, "bad", "/events/2/id"), accept_all)
    sender.click("a", "b", "c", "d")
    sender.send_all()
    assert sender.statuses() == {"a": "accepted", "b": "invalid", "c": "accepted", "d": "invalid"}
    assert [outcome.detail for outcome in sender.seen if outcome.status == "invalid"] == [
        "/position: wrong",
        "/id: bad",
    ]


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("wrong", ["a", "d", "g"])
def test_without_a_pointer_halves_are_tried(status: int, wrong: str) -> None:
    def refuse_wrong(post: Post) -> Exchange:
        return problem(status) if f'"{wrong}"'.encode() in post.content else accept_all(post)

    sender = Sender(*[refuse_wrong] * 20)
    sender.click(*"abcdefg")
    sender.send_all()
    assert sender.statuses() == {name: "invalid" if name == wrong else "accepted" for name in "abcdefg"}


def test_an_unknown_event_is_sent_again_because_its_display_may_not_be_committed_yet() -> None:
    sender = Sender(statuses_of("unknown", "accepted"), statuses_of("unknown"), accept_all)
    sender.click("a", "b")
    sender.send_all()
    assert sender.statuses() == {"a": "accepted", "b": "accepted"}
    assert sum(sender.service.waits) >= 0.2, "a display is committed within a tenth of a second"


def test_an_event_that_stays_unknown_is_reported() -> None:
    sender = Sender(*[statuses_of("unknown")] * (1 + MOST_UNKNOWN))
    sender.click("a")
    sender.send_all()
    assert sender.statuses() == {"a": "unknown"}
    assert sender.outcomes.counts == {"unknown": 1}


def test_a_full_queue_drops_the_oldest_and_reports_it() -> None:
    sender = Sender(accept_all, queue_size=3)
    sender.click("a", "b")
    sender.click("c", "d", "e")
    assert [(outcome.event.id, outcome.status) for outcome in sender.seen] == [("a", "dropped"), ("b", "dropped")]
    assert "full" in sender.seen[0].detail
    sender.send_all()
    assert joined(map(ids, sender.service.bodies())) == ["c", "d", "e"]
    assert sender.outcomes.counts == {"dropped": 2, "accepted": 3}


def test_a_failed_batch_counts_as_oldest_when_the_queue_has_filled_meanwhile() -> None:
    def fill(post: Post) -> Exchange:
        sender.click("c", "d")
        return REFUSED

    sender = Sender(fill, accept_all, queue_size=3)
    sender.click("a", "b")
    sender.send_all()
    assert sender.statuses() == {"a": "dropped", "b": "accepted", "c": "accepted", "d": "accepted"}


def test_events_that_cannot_be_sent_are_reported_at_once() -> None:
    sender = Sender()
    sender.queue.add([Event("click", token="t", position=object())])  # type: ignore[arg-type]
    sender.queue.add([Event("click", token="t" * 5000, position="p")])
    assert [outcome.status for outcome in sender.seen] == ["invalid", "invalid"]


def test_a_callback_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def fail(outcome: EventOutcome) -> None:
        raise RuntimeError("oops")

    outcomes = Outcomes(fail)
    outcomes.report([EventOutcome(Event("view", token="t"), "accepted")])
    assert outcomes.counts == {"accepted": 1}
    assert "on_outcome failed" in caplog.text


def test_a_sender_that_is_cancelled_gives_its_batch_back() -> None:
    sender = Sender()
    sender.click("a")
    sender.sender.hasten()
    flow = sender.sender.flow()
    assert isinstance(next(flow), Post)
    flow.close()
    assert [entry.event.id for entry in sender.queue.take(10)] == ["a"]


def test_losses_are_logged_but_not_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    sender = Sender(queue_size=1)
    sender.click(*(f"e{k}" for k in range(100)))
    assert len(caplog.records) == 1
    assert "the queue is full" in caplog.text
