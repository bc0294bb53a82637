"""The arrangements that pages keep, so that displays from the same draw are arranged and encoded only once."""

from collections import deque

from slotwise.service.store.records import Arrangement

MOST_KEPT = 20_000  # arrangements of all pages; with 5 positions, each takes about 1 kB


class ArrangementCache:
    """Limits how many arrangements all pages together keep. Those that were made first leave first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: deque[tuple[dict[int, Arrangement], int]] = deque()

    def add(self, arranged: dict[int, Arrangement], pick: int, arrangement: Arrangement) -> None:
        """Keep the arrangement of a pick in a page's own dict, until it is one of the oldest."""
        arranged[pick] = arrangement
        self._kept.append((arranged, pick))
        if len(self._kept) > self._most:
            oldest, pick = self._kept.popleft()
            oldest.pop(pick, None)
