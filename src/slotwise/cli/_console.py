"""The consoles that commands print to, and progress bars.

Import the module, not its names: tests replace the consoles.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)

AddBar = Callable[[str, int], Callable[[int], None]]


def print_line(text: str) -> None:
    """Print text as it is on stdout: no markup, and no line breaks at the width of the console."""
    stdout.print(text, markup=False, soft_wrap=True)


def print_note(text: str) -> None:
    """Print something on stderr that is no error but that the user should know."""
    stderr.print(f"[yellow]note:[/] {escape(_printable(text))}", soft_wrap=True)


def print_error(text: str) -> None:
    """Print why a command stops, as one line on stderr."""
    stderr.print(f"[bold red]error:[/] {escape(_printable(text))}", soft_wrap=True)


def _printable(text: str) -> str:
    """The text with control characters escaped: names in a log may hold any, and a terminal would obey them."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


def make_progress(quiet: bool, **settings: Any) -> Progress:
    """Progress bars with the time left on stderr; disabled when `quiet`, or when stderr is not a terminal."""
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    return Progress(*columns, console=stderr, disable=quiet or not stderr.is_terminal, **settings)


@contextmanager
def progress_bars(count: int, quiet: bool) -> Iterator[AddBar]:
    """A function that adds one of `count` bars: given a label and a total, it returns a callback for the work done."""
    with make_progress(quiet, transient=count > 8) as progress:

        def add_bar(label: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(escape(label), total=total)
            return lambda done: progress.update(task, completed=done)

        yield add_bar
