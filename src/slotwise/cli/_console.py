"""What all commands share: the application, its two consoles, and progress bars."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

app = typer.Typer(
    name="slotwise",
    help="Learns from clicks alone which items to show in which position of a page.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
screen = Console()
errors = Console(stderr=True)


Bar = Callable[[str, int], Callable[[int], None]]


@contextmanager
def bars(count: int, quiet: bool) -> Iterator[Bar]:
    """Progress bars on stderr, one for each of `count` jobs; silent when stderr is not a terminal."""
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=errors, disable=quiet or not errors.is_terminal, transient=count > 8) as progress:

        def bar(label: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(escape(label), total=total)
            return lambda done: progress.update(task, completed=done)

        yield bar
