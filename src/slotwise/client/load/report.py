"""LoadReport: the results of a load, as text, JSON and chart data."""

from typing import Any

import msgspec
from msgspec import Struct

from slotwise.client.load.generator import LoadGenerator
from slotwise.client.load.latency import Latency
from slotwise.client.load.learning_curve import CurvePoint


class RequestStatistics(Struct):
    """Requests of one kind: how many were answered, quantiles of their latency, and how often each error occurred."""

    answered: int
    milliseconds: dict[str, float | None]
    errors: dict[str, int]

    @classmethod
    def of(cls, latency: Latency, errors: dict[str, int]) -> "RequestStatistics":
        return cls(latency.count, latency.milliseconds(), dict(errors))


class LoadReport(Struct):
    """The results of a load. `slotwise load --json` prints the same field names."""

    page: str
    rounds: int
    seconds: float
    rounds_per_second: float
    rate: float | None
    connections: int
    delay: int
    recommendations: RequestStatistics
    events: RequestStatistics
    event_statuses: dict[str, int]
    degraded: int
    clicks: int
    regret: float
    regret_at_random: float
    regret_per_round_lately: float
    learning_curve: list[CurvePoint]
    stopped: str

    @classmethod
    def of(cls, load: LoadGenerator) -> "LoadReport":
        curve, plan = load.curve, load.plan
        return cls(
            page=plan.page,
            rounds=curve.rounds,
            seconds=load.seconds,
            rounds_per_second=curve.rounds / load.seconds,
            rate=plan.rate,
            connections=plan.connections,
            delay=plan.delay,
            recommendations=RequestStatistics.of(load.latency, load.errors),
            events=RequestStatistics.of(load.clicks.latency, load.clicks.errors),
            event_statuses=dict(load.clicks.statuses),
            degraded=load.degraded,
            clicks=load.clicked,
            regret=curve.regret,
            regret_at_random=load.visitors.regret_at_random * curve.rounds,
            regret_per_round_lately=curve.recent_regret(),
            learning_curve=curve.points(),
            stopped=load.stopped,
        )

    def problems(self) -> list[str]:
        """One line for each kind of problem."""
        by_kind = [("recommendations", self.recommendations.errors), ("events", self.events.errors)]
        lines = [f"{kind}: {count:,} x {reason}" for kind, errors in by_kind for reason, count in errors.items()]
        lines += [f"events: {n:,} {status}" for status, n in self.event_statuses.items() if status != "accepted"]
        lines += [f"{self.degraded:,} displays were not recorded because the store was down"] * (self.degraded > 0)
        return lines

    def summary(self) -> str:
        return (
            f"{self.rounds:,} rounds in {self.seconds:.1f} s, {self.rounds_per_second:,.0f} per second, "
            f"{self.clicks:,} clicks; regret {self.regret:,.1f}, at random {self.regret_at_random:,.1f}"
        )


def to_json_data(report: LoadReport) -> Any:
    """The report for JSON, with the points of the learning curve as objects."""
    data = msgspec.to_builtins(report)
    data["learning_curve"] = [point._asdict() for point in report.learning_curve]
    return data
