"""What a load gave, for people, machines and charts."""

from typing import Any

import msgspec
from msgspec import Struct

from slotwise.client.load.generator import Load
from slotwise.client.load.latency import Latency
from slotwise.client.load.learning_curve import Point


class Calls(Struct):
    """Calls of one kind: how many were answered, how fast in milliseconds, and what became of the others."""

    answered: int
    milliseconds: dict[str, float | None]
    errors: dict[str, int]

    @classmethod
    def of(cls, latency: Latency, errors: dict[str, int]) -> "Calls":
        """Out of what was measured."""
        return cls(latency.count, latency.milliseconds(), dict(errors))


class Report(Struct):
    """A load, done."""

    page: str
    rounds: int
    seconds: float
    rounds_per_second: float
    rate: float | None
    connections: int
    delay: int
    recommendations: Calls
    events: Calls
    event_statuses: dict[str, int]
    degraded: int
    clicks: int
    regret: float
    regret_at_random: float
    regret_per_round_lately: float
    learning_curve: list[Point]
    stopped: str

    @classmethod
    def of(cls, load: Load) -> "Report":
        """What there is to say of a load."""
        curve, plan = load.curve, load.plan
        return cls(
            page=plan.page,
            rounds=curve.rounds,
            seconds=load.seconds,
            rounds_per_second=curve.rounds / load.seconds,
            rate=plan.rate,
            connections=plan.connections,
            delay=plan.delay,
            recommendations=Calls.of(load.latency, load.errors),
            events=Calls.of(load.clicks.latency, load.clicks.errors),
            event_statuses=dict(load.clicks.statuses),
            degraded=load.degraded,
            clicks=load.clicked,
            regret=curve.regret,
            regret_at_random=load.visitors.regret_at_random * curve.rounds,
            regret_per_round_lately=curve.lately(),
            learning_curve=curve.points(),
            stopped=load.stopped,
        )

    def trouble(self) -> list[str]:
        """One line for each thing that went wrong."""
        told = [("recommendations", self.recommendations.errors), ("events", self.events.errors)]
        lines = [f"{what}: {count:,} x {why}" for what, errors in told for why, count in errors.items()]
        lines += [f"events: {n:,} {status}" for status, n in self.event_statuses.items() if status != "accepted"]
        lines += [f"{self.degraded:,} displays are not learnt from, the store being down"] * (self.degraded > 0)
        return lines

    def summary(self) -> str:
        """One line."""
        return (
            f"{self.rounds:,} rounds in {self.seconds:.1f} s, {self.rounds_per_second:,.0f} per second, "
            f"{self.clicks:,} clicks; regret {self.regret:,.1f}, at random {self.regret_at_random:,.1f}"
        )


def as_data(report: Report) -> Any:
    """For JSON: points of the learning curve under their names."""
    plain = msgspec.to_builtins(report)
    plain["learning_curve"] = [point._asdict() for point in report.learning_curve]
    return plain
