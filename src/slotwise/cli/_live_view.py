"""The live view of a running load in a terminal: learning curve, speed, latency and regret."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from slotwise.cli import _console as console
from slotwise.cli._plot import plot
from slotwise.client.load.generator import LoadGenerator

HEIGHT, MOST_COLUMNS, AXIS_WIDTH = 8, 72, 8


@contextmanager
def live_view(quiet: bool) -> Iterator[Callable[[LoadGenerator], None]]:
    """A callback that redraws a load on stderr. It does nothing when `quiet`, or when stderr is not a terminal."""
    if quiet or not console.stderr.is_terminal:
        yield lambda _: None
        return
    with Live(console=console.stderr, auto_refresh=False) as view:
        yield lambda load: view.update(Text(render(load, console.stderr.width), no_wrap=True), refresh=True)


def render(load: LoadGenerator, width: int) -> str:
    """The learning curve, and three lines of numbers below it."""
    unicode = console.stderr.encoding.startswith("utf")
    level, values = load.visitors.regret_at_random, [point.regret for point in load.curve.points()]
    columns = max(min(width - AXIS_WIDTH - 12, MOST_COLUMNS), 10)
    rows = plot(values, level, columns, HEIGHT, unicode)
    top = max([level, *values])
    axis = [f"{top:>{AXIS_WIDTH - 1}.3f} ", *[" " * AXIS_WIDTH] * (HEIGHT - 2), f"{0:>{AXIS_WIDTH - 1}} "]
    level_row = HEIGHT - 1 - min(int(level / max(top, 1e-12) * HEIGHT), HEIGHT - 1)
    labels = [" at random" if row == level_row else "" for row in range(HEIGHT)]
    lines = [left + row + right for left, row, right in zip(axis, rows, labels, strict=True)]
    return "\n".join(["clicks lost per round", *lines, *_status_lines(load)])


def _status_lines(load: LoadGenerator) -> list[str]:
    rounds, rate = load.curve.rounds, load.curve.rounds / load.seconds
    total = f" of {load.plan.rounds:,}" if load.plan.rounds else ""
    left = f", {(load.plan.rounds - rounds) / rate:,.0f} s left" if load.plan.rounds and rate else ""
    median, p99 = (_format_ms(load.latency.quantile(share)) for share in (0.5, 0.99))
    errors = sum(load.errors.values()) + sum(load.clicks.errors.values())
    return [
        f"{rounds:,}{total} rounds, {rate:,.0f} per second{left}",
        f"latency {median} (p50), {p99} (p99)" + f"; {errors:,} errors" * (errors > 0),
        f"regret {load.curve.regret:,.0f} clicks, at random {load.visitors.regret_at_random * rounds:,.0f}",
    ]


def _format_ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f} ms"
