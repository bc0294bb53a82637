"""How much the counts of a page have changed since its draws were made. This decides when they are made again."""

import math
from typing import NamedTuple

MOST_LEVEL = 8  # the counts are hundreds of times what they were
NO_DRAWS, ITEMS_ADDED = MOST_LEVEL + 1, MOST_LEVEL + 2  # levels of urgency above those of growth
FAR = 0.5  # if displays or clicks have changed by this share, the sampler has to settle again


class CountsVersion(NamedTuple):
    """How much a page has counted, without priors, and how often its items and priors were changed."""

    displays: float
    clicks: float
    changes: int


NO_COUNTS = CountsVersion(0.0, 0.0, 0)


class Growth:
    """The counts of a page now, and those that its draws were made from.

    Every display changes the counts and asks for the level. So the counts are plain numbers, and the changes from which
    on draws are due are computed only once.
    """

    def __init__(self, displays: float, clicks: float, share: float) -> None:
        self._share = share
        self.now = self.drawn_from = CountsVersion(displays, clicks, 0)

    @property
    def now(self) -> CountsVersion:
        return CountsVersion(self._displays, self._clicks, self._changes)

    @now.setter
    def now(self, version: CountsVersion) -> None:
        self._displays, self._clicks, self._changes = version

    @property
    def drawn_from(self) -> CountsVersion:
        return self._drawn_from

    @drawn_from.setter
    def drawn_from(self, version: CountsVersion) -> None:
        self._drawn_from = version
        self._due_displays = max(1.0, self._share * version.displays)
        self._due_clicks = max(1.0, self._share * version.clicks)

    @property
    def displays(self) -> float:
        return self._displays

    def not_due_before(self) -> float:
        """The number of displays below which no draws are due, as long as nothing else changes than displays."""
        drawn_from = self._drawn_from.displays
        return self._displays + self._due_displays - abs(self._displays - drawn_from) - 1.0  # 1 because of rounding

    def add(self, displays: float, clicks: float) -> None:
        """Count displays and clicks. The numbers may be negative."""
        self._displays += displays
        self._clicks += clicks

    def fade(self, factor: float) -> None:
        self._displays *= factor
        self._clicks *= factor

    def change(self) -> None:
        """Note a change of the items or their priors, or of the pages of a template."""
        self._changes += 1

    def restart(self, noted: CountsVersion, drawn_from: CountsVersion) -> None:
        """Draws were made from other counts than those `noted` here. Continue from there with what was added since."""
        displays, clicks = self.now.displays - noted.displays, self.now.clicks - noted.clicks
        self.now = CountsVersion(drawn_from.displays + displays, drawn_from.clicks + clicks, self.now.changes)
        self.drawn_from = drawn_from

    @property
    def share(self) -> float:
        """The relative change of the displays or of the clicks since the draws were made, whichever is larger."""
        return self._share * self.relative()

    def relative(self) -> float:
        """The change since the draws were made, divided by the change at which new draws are due."""
        displays, clicks, _ = self._drawn_from
        return max(abs(self._displays - displays) / self._due_displays, abs(self._clicks - clicks) / self._due_clicks)

    def level(self) -> int:
        """How urgent new draws are, from 0 to MOST_LEVEL, or -1 if not due. Each level means twice the change."""
        change = self.relative()
        if change < 1.0:
            return 0 if self._changes != self._drawn_from.changes else -1
        return min(int(math.log2(change)), MOST_LEVEL)
