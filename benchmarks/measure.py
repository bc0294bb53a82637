"""Measurements on a noisy machine: contenders alternate, and the results are ratios within one run."""

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
    """A measured number and its limit, which is a maximum, or a minimum if `most` is False."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    most: bool = True

    @property
    def passed(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value <= self.limit if self.most else self.value >= self.limit


def alternate(contenders: dict[str, Callable[[], object]], turns: int = 9) -> dict[str, np.ndarray]:
    """Processor seconds of each contender. They alternate, so that a slow phase of the machine affects all of them."""
    for contender in contenders.values():
        contender()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, contender in contenders.items():
            started = time.thread_time()
            contender()
            seconds[name].append(time.thread_time() - started)
    return {name: np.array(values) for name, values in seconds.items()}


def ratio(seconds: dict[str, np.ndarray], name: str, baseline: str) -> float:
    """The contender's time divided by the baseline's time; the median over the turns."""
    return float(np.median(seconds[name] / seconds[baseline]))


def report(title: str, name: str, rows: list[Row]) -> bool:
    """Print the rows and save them as JSON. Returns whether every limit holds."""
    table = Table("measured", "value", "limit", "", title=title, show_edge=False, title_justify="left")
    for row in rows:
        limit = "" if row.limit is None else f"{'<=' if row.most else '>='} {row.limit:g}"
        verdict = {None: "", True: "[green]holds[/]", False: "[red]does not hold[/]"}[row.passed]
        table.add_row(row.what, f"{row.value:.3g} {row.unit}", limit, verdict)
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    content = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "rows": [asdict(row) for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    return all(row.passed is not False for row in rows)
