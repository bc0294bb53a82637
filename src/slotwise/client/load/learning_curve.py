"""LearningCurve: regret per round in bins. The number of bins is limited, so bins widen as rounds are added."""

from typing import NamedTuple

MAX_BINS = 256


class CurvePoint(NamedTuple):
    """The mean regret of the rounds after the previous point, up to and including `round`."""

    round: int
    regret: float


class LearningCurve:
    """Collects the regret of each round in bounded memory."""

    def __init__(self) -> None:
        self.rounds, self.regret = 0, 0.0
        self._width = 1  # rounds in a bin
        self._sums: list[float] = []
        self._last, self._filled = 0.0, 0  # sum and number of rounds of the unfinished bin

    def add(self, regret: float) -> None:
        self.rounds += 1
        self.regret += regret
        self._last += regret
        self._filled += 1
        if self._filled == self._width:
            self._sums.append(self._last)
            self._last, self._filled = 0.0, 0
            if len(self._sums) == MAX_BINS:
                self._sums = [a + b for a, b in zip(self._sums[::2], self._sums[1::2], strict=True)]
                self._width *= 2

    def points(self) -> list[CurvePoint]:
        """One point per bin. The unfinished last bin is included only when it is the only one."""
        if not self._sums and self._filled:
            return [CurvePoint(self._filled, self._last / self._filled)]
        return [CurvePoint((k + 1) * self._width, total / self._width) for k, total in enumerate(self._sums)]

    def recent_regret(self, share: float = 0.1) -> float:
        """Regret per round over about the last `share` of the rounds."""
        points = self.points()
        if not points:
            return 0.0
        last = points[-max(round(share * len(points)), 1) :]
        return sum(point.regret for point in last) / len(last)
