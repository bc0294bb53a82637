"""Recommendations of the client: retries with one id, the circuit breaker, refusals, and lost displays."""

import re
from typing import Any

import pytest

from slotwise_client import DefaultOrder, Event, Options, RequestRefused, ServiceUnavailable
from slotwise_client.display import Display, DisplayRequest
from slotwise_client.recommendations import Recommendations
from slotwise_client.tracing import Tracing
from tests.clients.scripted_service import LOST, REFUSED, ScriptedService, answer, display_answer, problem

DEFAULT = DefaultOrder(["p0", "p1"], ["tie", "hat"])


class Page:
    """A page that asks for displays of a scripted service."""

    def __init__(self, *script: Any, **options: Any) -> None:
        self.service = ScriptedService(*script)
        self.discarded: list[Event] = []
        settings = Options(trace_headers=lambda: {"traceparent": "00-1"}, **options)
        self.recommendations = Recommendations(
            settings, {"User-Agent": "test"}, self.discarded.extend, Tracing(settings), self.service.clock
        )

    def ask(self, **fields: Any) -> Display:
        request = DisplayRequest("a shop", fields.get("id", "r1"), {"default": DEFAULT} | fields)  # type: ignore[arg-type]
        return self.service.run(self.recommendations.flow(request))

    def ask_for_sources(self, number: int) -> list[str]:
        return [self.ask().source for _ in range(number)]


def test_a_request_has_its_fields_and_headers() -> None:
    page = Page(display_answer("hat", "tie"))
    display = page.ask(layout="desktop", excluded=["bag"], segment=None, timeout=0.1)
    assert display.by_position == {"p0": "hat", "p1": "tie"}
    assert (display.source, display.error, display.token) == ("service", "", "d.t")
    (post,) = page.service.posts
    assert post.path == "/v1/pages/a%20shop/recommendations"
    assert post.headers == {"User-Agent": "test", "traceparent": "00-1"}
    assert post.timeout == pytest.approx(0.1)
    assert page.service.bodies() == [{"id": "r1", "layout": "desktop", "excluded": ["bag"]}]


def test_a_preview_is_neither_kept_nor_discarded() -> None:
    page = Page(display_answer("hat", "tie"), LOST, LOST, LOST)
    assert page.ask(preview=True).source == "service"
    assert page.ask(preview=True).source == "default"
    assert {post.path for post in page.service.posts} == {"/v1/pages/a%20shop/recommendations?preview=true"}
    assert page.service.bodies()[0] == {"id": "r1"}
    assert page.discarded == []


@pytest.mark.parametrize("failure", [REFUSED, LOST, problem(503), problem(500), answer(200, "<html>")])
def test_a_failure_is_retried_with_the_same_id_within_the_timeout(failure: Any) -> None:
    page = Page(failure, failure, display_answer("hat"))
    assert page.ask().source == "service"
    assert [body["id"] for body in page.service.bodies()] == ["r1"] * 3
    used = page.service.now - 1000
    assert page.service.posts[-1].timeout == pytest.approx(0.25 - used)
    assert len(page.service.waits) == 2
    assert page.discarded == [], "the display is shown"


def test_no_retry_begins_after_the_timeout() -> None:
    page = Page(LOST, timeout=0.01)
    assert page.ask().source == "default"
    assert len(page.service.posts) == 1


def test_pauses_are_jittered() -> None:
    first_waits = set()
    for _ in range(10):
        page = Page(REFUSED, display_answer("hat"))
        page.ask()
        first_waits.add(page.service.waits[0])
    assert len(first_waits) > 5
    assert max(first_waits) <= 0.02


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_is_not_retried(status: int) -> None:
    page = Page(problem(status, "no such item", "/eligible/0"))
    display = page.ask()
    assert display.source == "default"
    assert display.error == f"{status}: /eligible/0: no such item"
    assert len(page.service.posts) == 1


def test_a_request_that_is_not_json_is_refused_without_asking() -> None:
    display = Page().ask(context=object())
    assert display.source == "default"
    assert "JSON" in display.error


def test_retry_after_of_a_429_is_honoured() -> None:
    page = Page(problem(429, retry_after=7), display_answer("hat"))
    assert page.ask().source == "default"
    page.service.now += 6.9
    assert page.ask().source == "default"
    assert len(page.service.posts) == 1
    page.service.now += 0.2
    assert page.ask().source == "service"


def test_the_circuit_breaker_opens_and_one_request_tries_again() -> None:
    page = Page(*[REFUSED] * 5, display_answer("hat"), retries=0, breaker_failures=3, breaker_seconds=2.0)
    assert page.ask_for_sources(6) == ["default"] * 6
    assert len(page.service.posts) == 3, "the breaker is open, so pages do not wait"
    page.service.now += 2.01
    assert page.ask_for_sources(2) == ["default"] * 2
    assert len(page.service.posts) == 4, "only one request has tried again"
    page.service.now += 2.01
    page.ask()
    page.service.now += 2.01
    assert page.ask().source == "service"
    page.service.script += [REFUSED, display_answer("hat")]
    assert page.ask_for_sources(2) == ["last_good", "service"], "it is closed: one failure does not open it"


def test_while_one_request_tries_again_the_others_do_not_wait() -> None:
    page = Page(REFUSED, retries=0, breaker_failures=1)
    page.ask()
    page.service.now += 3
    trying = page.recommendations.flow(DisplayRequest("shop", "r1", {}))
    next(trying)
    assert page.ask().source == "default"
    assert len(page.service.posts) == 1
    trying.close()


def test_a_refusal_does_not_open_the_circuit_breaker() -> None:
    page = Page(*[problem(404)] * 4, display_answer("hat"), breaker_failures=2)
    assert page.ask_for_sources(5) == ["default"] * 4 + ["service"]


def test_the_last_good_display_is_shown_before_the_default_order() -> None:
    page = Page(display_answer("hat", "tie"), *[REFUSED] * 6)
    page.ask()
    away = page.ask(excluded=["hat"])
    assert (away.source, away.by_position) == ("last_good", {"p1": "tie"})
    assert page.ask(segment="new").by_position == {"p0": "tie", "p1": "hat"}, "another segment"


@pytest.mark.parametrize(("failure", "discarded"), [(LOST, 1), (problem(503), 1), (problem(429), 0), (REFUSED, 0)])
def test_a_display_that_may_be_lost_is_discarded(failure: Any, discarded: int) -> None:
    page = Page(failure, retries=0)
    page.ask()
    assert [(event.type, event.display) for event in page.discarded] == [("discard", "r1")] * discarded


def test_a_display_with_an_id_of_the_caller_is_not_discarded() -> None:
    page = Page(LOST, retries=0)
    page.ask(id="view-7")
    assert page.discarded == [], "the caller may ask for it again"


def test_errors_are_raised_on_request() -> None:
    page = Page(LOST, problem(404, "no such page"), retries=0, raise_errors=True)
    with pytest.raises(ServiceUnavailable, match="no answer in time"):
        page.ask()
    with pytest.raises(RequestRefused, match=re.escape("404: no such page")):
        page.ask()
