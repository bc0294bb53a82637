"""A learning curve: regret per round over time, in a fixed number of bins that grow wider as rounds go by."""

from typing import NamedTuple

MOST_BINS = 256


class Point(NamedTuple):
    """The mean regret of the rounds up to `round` that came after those of the point before."""

    round: int
    regret: float


class Curve:
    """Regret as rounds go by; memory does not grow with them."""

    def __init__(self) -> None:
        self.rounds, self.regret = 0, 0.0
        self._width = 1  # rounds in a bin
        self._sums: list[float] = []
        self._last, self._filled = 0.0, 0  # of the bin that is being filled

    def add(self, regret: float) -> None:
        """One more round."""
        self.rounds += 1
        self.regret += regret
        self._last += regret
        self._filled += 1
        if self._filled == self._width:
            self._sums.append(self._last)
            self._last, self._filled = 0.0, 0
            if len(self._sums) == MOST_BINS:
                self._sums = [a + b for a, b in zip(self._sums[::2], self._sums[1::2], strict=True)]
                self._width *= 2

    def points(self) -> list[Point]:
        """The curve, the unfinished bin at its end left out unless it is all there is."""
        if not self._sums and self._filled:
            return [Point(self._filled, self._last / self._filled)]
        return [Point((k + 1) * self._width, total / self._width) for k, total in enumerate(self._sums)]

    def lately(self, share: float = 0.1) -> float:
        """Regret per round over about the last share of the rounds."""
        points = self.points()
        if not points:
            return 0.0
        last = points[-max(round(share * len(points)), 1) :]
        return sum(point.regret for point in last) / len(last)
