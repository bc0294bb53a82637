"""Measuring on a noisy machine: contenders take turns, and only ratios within one run are reported."""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One measured number and the limit it is held against; `most` says which side of the limit is good."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    most: bool = True

    @property
    def good(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value <= self.limit if self.most else self.value >= self.limit


def take_turns(contenders: dict[str, Callable[[], object]], turns: int = 9) -> dict[str, np.ndarray]:
    """Processor seconds of each contender, in turn, so that a slow spell of the machine hits all of them."""
    for contender in contenders.values():
        contender()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, contender in contenders.items():
            begun = time.thread_time()
            contender()
            seconds[name].append(time.thread_time() - begun)
    return {name: np.array(values) for name, values in seconds.items()}


def ratio(seconds: dict[str, np.ndarray], name: str, yardstick: str) -> float:
    """The median over the turns of one contender's time divided by the yardstick's."""
    return float(np.median(seconds[name] / seconds[yardstick]))


def report(title: str, name: str, rows: list[Row]) -> bool:
    """Print the rows, keep them as JSON, and say whether every limit holds."""
    table = Table("measured", "value", "limit", "", title=title, show_edge=False, title_justify="left")
    for row in rows:
        limit = "" if row.limit is None else f"{'<=' if row.most else '>='} {row.limit:g}"
        verdict = {None: "", True: "[green]holds[/]", False: "[red]does not hold[/]"}[row.good]
        table.add_row(row.what, f"{row.value:.3g} {row.unit}", limit, verdict)
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    content = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "rows": [asdict(row) for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    return all(row.good is not False for row in rows)
