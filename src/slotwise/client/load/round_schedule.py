"""The schedule of rounds: when each is due. Its rate may change while a load runs."""

LONGEST_WAIT = 0.25  # seconds after which a waiting round looks at the rate again


class RoundSchedule:
    """Rounds at a rate per second. Without a rate they are due at once, and at rate 0 none is due."""

    def __init__(self, rate: float | None, now: float) -> None:
        self.rate, self.since, self._first = rate, now, 0

    def change(self, rate: float | None, round: int, now: float) -> None:
        """Use another rate from now on, beginning with this round."""
        self.rate, self.since, self._first = rate, now, round

    @property
    def paused(self) -> bool:
        return self.rate == 0.0

    def due(self, round: int) -> float | None:
        """The time at which a round is due, or None if it is due at once."""
        if self.rate is None:
            return None
        return self.since + (round - self._first) / self.rate if self.rate else float("inf")
