"""A load under way, in the terminal: its learning curve, its speed, its regret."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from slotwise.cli import _console as console
from slotwise.cli._plot import plot
from slotwise.client.load.generator import LoadGenerator

HEIGHT, WIDEST, MARGIN = 8, 72, 8


@contextmanager
def live(quiet: bool) -> Iterator[Callable[[LoadGenerator], None]]:
    """Draw a load again and again on stderr; nothing when that is not a terminal."""
    if quiet or not console.errors.is_terminal:
        yield lambda _: None
        return
    with Live(console=console.errors, auto_refresh=False) as drawing:
        yield lambda load: drawing.update(Text(picture(load, console.errors.width), no_wrap=True), refresh=True)


def picture(load: LoadGenerator, width: int) -> str:
    """The learning curve, and three lines below it, none of them wide."""
    unicode = console.errors.encoding.startswith("utf")
    level, values = load.visitors.regret_at_random, [point.regret for point in load.curve.points()]
    columns = max(min(width - MARGIN - 12, WIDEST), 10)
    rows = plot(values, level, columns, HEIGHT, unicode)
    top = max([level, *values])
    axis = [f"{top:>{MARGIN - 1}.3f} ", *[" " * MARGIN] * (HEIGHT - 2), f"{0:>{MARGIN - 1}} "]
    place = HEIGHT - 1 - min(int(level / max(top, 1e-12) * HEIGHT), HEIGHT - 1)
    side = [" at random" if row == place else "" for row in range(HEIGHT)]
    lines = [left + row + right for left, row, right in zip(axis, rows, side, strict=True)]
    return "\n".join(["clicks lost per round", *lines, *_told(load)])


def _told(load: LoadGenerator) -> list[str]:
    rounds, rate = load.curve.rounds, load.curve.rounds / load.seconds
    of = f" of {load.plan.rounds:,}" if load.plan.rounds else ""
    left = f", {(load.plan.rounds - rounds) / rate:,.0f} s left" if load.plan.rounds and rate else ""
    middle, high = (_ms(load.latency.quantile(share)) for share in (0.5, 0.99))
    errors = sum(load.errors.values()) + sum(load.clicks.errors.values())
    return [
        f"{rounds:,}{of} rounds, {rate:,.0f} per second{left}",
        f"answered in {middle} (p50), {high} (p99)" + f"; {errors:,} errors" * (errors > 0),
        f"regret {load.curve.regret:,.0f} clicks, at random {load.visitors.regret_at_random * rounds:,.0f}",
    ]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f} ms"
