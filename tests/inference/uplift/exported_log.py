"""Logs as the service exports them, written with known click rates."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

NOON = 20_000 * 86400 + 43200  # seconds since 1970
POSITIONS = ("left", "right")


class Traffic(NamedTuple):
    """Displays of one day: their variant, their number, and the probability of a click at each position."""

    day: int
    variant: str
    displays: int
    rate: float
    allocation: int = 0  # 0: lines have no allocation


def write_log(path: Path, traffic: Iterable[Traffic], page: str = "shop", buckets: int = 0, value: float = 0.0) -> Path:
    """Write a log. With `buckets`, lines have a bucket; with a value above 0, they have a value."""
    rng = np.random.default_rng(0)
    lines = []
    for part in traffic:
        for k in range(part.displays):
            common = {"display": f"{page}-{part.day}-{part.variant}-{k}", "issued": NOON + 86400.0 * part.day + k / 1e3}
            common |= {"page": page, "segment": "", "layout": "default", "variant": part.variant, "shown": 1}
            common |= {"bucket": int(rng.integers(buckets))} if buckets else {}
            common |= {"allocation": part.allocation} if part.allocation else {}
            for position in POSITIONS:
                click = {"position": position, "item": f"item {position}", "clicked": int(rng.random() < part.rate)}
                lines.append({**common, **click, **({"value": value} if value else {})})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
