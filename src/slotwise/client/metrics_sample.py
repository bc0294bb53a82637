"""The metrics of a service at one time, read from the text format of Prometheus, and what changed between two times."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

_LINE = re.compile(r'^(\w+)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}

Labels = frozenset[tuple[str, str]]


class MetricsSample(NamedTuple):
    """All values: name -> labels -> value. `time` is in seconds, of any clock that does not jump."""

    time: float
    values: Mapping[str, Mapping[Labels, float]]

    def value(self, name: str) -> float:
        """The sum of a metric over all its labels. 0 if there is none."""
        return sum(self.values.get(name, {}).values())

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The sums of a metric for each combination of these labels."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for given, value in self.values.get(name, {}).items():
            known = dict(given)
            sums[tuple(known.get(label, "") for label in labels)] += value
        return dict(sums)

    def since(self, before: "MetricsSample") -> "MetricsSample":
        """What was added since another sample. `time` is the time between them.

        After a restart of the service, its counters start at 0. Then everything counts as added.
        """
        added = {
            name: {
                labels: value - (old if (old := before.values.get(name, {}).get(labels, 0.0)) <= value else 0.0)
                for labels, value in values.items()
            }
            for name, values in self.values.items()
        }
        return MetricsSample(self.time - before.time, added)

    def quantile(self, name: str, share: float, **labels: str) -> float | None:
        """A quantile of a histogram, linear within its bucket. None if nothing was observed."""
        buckets: dict[float, float] = defaultdict(float)
        for given, value in self.values.get(f"{name}_bucket", {}).items():
            known = dict(given)
            if all(known.get(label) == wanted for label, wanted in labels.items()):
                buckets[float(known["le"])] += value
        limits = sorted(buckets)
        if not limits or buckets[limits[-1]] <= 0.0:
            return None
        target, low, below = share * buckets[limits[-1]], 0.0, 0.0
        for limit in limits:
            if buckets[limit] >= target:
                within = buckets[limit] - below
                if limit == float("inf") or within <= 0.0:
                    return low
                return low + (limit - low) * (target - below) / within
            low, below = limit, buckets[limit]
        return low


def parse_metrics(text: str, time: float) -> MetricsSample:
    """The values in a text. Lines that are not valid are ignored."""
    values: dict[str, dict[Labels, float]] = defaultdict(dict)
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            name, labels, value = match.groups()
            pairs = frozenset((label, _unescape(text)) for label, text in _LABEL.findall(labels or ""))
            values[name][pairs] = float(value)
    return MetricsSample(time, dict(values))


def _unescape(text: str) -> str:
    return re.sub(r"\\.", lambda escape: _ESCAPES.get(escape.group(), escape.group()), text)
