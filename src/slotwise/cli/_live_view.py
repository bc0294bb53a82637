"""The live view of a running load in a terminal: learning curve, speed, latency and regret."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import ConsoleDimensions
from rich.live import Live
from rich.text import Text

from slotwise.cli import _console as console
from slotwise.cli._terminal_plot import plot
from slotwise.client.load.generator import LoadGenerator
from slotwise.client.load.latency import RECENT_SECONDS

AXIS_WIDTH, LEVEL_LABEL = 8, " at random"
LEAST_COLUMNS, LEAST_HEIGHT = 10, 4
OTHER_LINES = 9  # the title, three lines of numbers, the addresses of the demo above them, and the cursor's line


@contextmanager
def live_view(quiet: bool) -> Iterator[Callable[[LoadGenerator], None]]:
    """A callback that redraws a load on stderr. It does nothing when `quiet`, or when stderr is not a terminal."""
    if quiet or not console.stderr.is_terminal:
        yield lambda _: None
        return
    with Live(console=console.stderr, auto_refresh=False) as view:
        yield lambda load: view.update(Text(render(load, console.stderr.size), no_wrap=True), refresh=True)


def render(load: LoadGenerator, size: ConsoleDimensions) -> str:
    """The learning curve, as large as a terminal of this size allows, and three lines of numbers below it."""
    unicode = console.stderr.encoding.startswith("utf")
    level, values = load.visitors.regret_at_random, [point.regret for point in load.curve.points()]
    columns = max(size.width - AXIS_WIDTH - len(LEVEL_LABEL) - 2, LEAST_COLUMNS)
    height = max(size.height - OTHER_LINES, LEAST_HEIGHT)
    rows = plot(values, level, columns, height, unicode)
    top = max([level, *values])
    axis = [f"{top:>{AXIS_WIDTH - 1}.3f} ", *[" " * AXIS_WIDTH] * (height - 2), f"{0:>{AXIS_WIDTH - 1}} "]
    level_row = height - 1 - min(int(level / max(top, 1e-12) * height), height - 1)
    labels = [LEVEL_LABEL if row == level_row else "" for row in range(height)]
    lines = [left + row + right for left, row, right in zip(axis, rows, labels, strict=True)]
    return "\n".join(["clicks lost per round", *lines, *_status_lines(load)])


def _status_lines(load: LoadGenerator) -> list[str]:
    rounds, rate = load.curve.rounds, load.curve.rounds / load.seconds
    total = f" of {load.plan.rounds:,}" if load.plan.rounds else ""
    left = f", {(load.plan.rounds - rounds) / rate:,.0f} s left" if load.plan.rounds and rate else ""
    latency = load.recent_latency.collect(time.perf_counter())
    median, p99 = (_format_ms(latency.quantile(share)) for share in (0.5, 0.99))
    errors = sum(load.errors.values()) + sum(load.clicks.errors.values())
    return [
        f"{rounds:,}{total} rounds, {rate:,.0f} per second{left}",
        f"latency of the last {RECENT_SECONDS} s: {median} (p50), {p99} (p99)" + f"; {errors:,} errors" * (errors > 0),
        f"regret {load.curve.regret:,.0f} clicks, at random {load.visitors.regret_at_random * rounds:,.0f}",
    ]


def _format_ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f} ms"
