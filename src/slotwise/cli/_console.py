"""The consoles that commands print to, and progress bars.

Import the module, not its names: tests replace the consoles.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)

AddBar = Callable[[str, int], Callable[[int], None]]


def print_line(text: str) -> None:
    """Print text on stdout as it is, without markup and without line breaks at the width of the console."""
    stdout.print(text, markup=False, soft_wrap=True)


def print_written(path: Path, quiet: bool = False) -> None:
    """Print which file a command has written. With `quiet`, print nothing, because a program reads stdout."""
    if not quiet:
        print_line(f"wrote {path}")


def print_note(text: str) -> None:
    """Print a note for the user on stderr. It is not an error."""
    stderr.print(f"[yellow]note:[/] {escape(_printable(text))}", soft_wrap=True)


def print_warning(text: str) -> None:
    """Print on stderr that a result may be wrong. The command goes on."""
    stderr.print(f"[bold yellow]warning:[/] {escape(_printable(text))}", soft_wrap=True)


def print_error(text: str) -> None:
    """Print why a command stops, as one line on stderr."""
    stderr.print(f"[bold red]error:[/] {escape(_printable(text))}", soft_wrap=True)


def _printable(text: str) -> str:
    """Escape control characters, because names in a log may contain them and a terminal would obey them."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


def make_progress(quiet: bool, **settings: Any) -> Progress:
    """Progress bars on stderr that show the time left. They are disabled if `quiet` or if stderr is not a terminal."""
    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
    return Progress(*columns, console=stderr, disable=quiet or not stderr.is_terminal, **settings)


@contextmanager
def status(text: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that changes the status line on stderr. With `quiet` or without a terminal, it does nothing."""
    if quiet or not stderr.is_terminal:
        yield lambda _: None
        return
    with stderr.status(escape(text)) as shown:
        yield lambda changed: shown.update(escape(changed))


@contextmanager
def progress_bars(count: int, quiet: bool) -> Iterator[AddBar]:
    """Yield a function that adds one of `count` bars.

    The function takes a label and a total, and returns a callback that reports the work done.
    """
    with make_progress(quiet, transient=count > 8) as progress, _compile_bar_in(progress):

        def add_bar(label: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(escape(label), total=total)
            return lambda done: progress.update(task, completed=done)

        yield add_bar


@contextmanager
def progress(label: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows one bar. It takes the work done, and all the work."""
    with progress_bars(1, quiet) as add_bar:
        bars: list[Callable[[int], None]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                bars.append(add_bar(label, total))
            bars[0](done)

        yield report


@contextmanager
def compile_bar(quiet: bool) -> Iterator[None]:
    """Show a bar on stderr only while numba compiles, so that nothing is redrawn while a service runs."""
    progress = make_progress(quiet, transient=True, redirect_stdout=sys.stdout.isatty())
    try:
        with _compile_bar_in(progress, progress.start, progress.stop):
            yield
    finally:
        progress.stop()


@contextmanager
def _compile_bar_in(
    progress: Progress, before: Callable[[], None] = lambda: None, after: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Add a bar while numba compiles. The bar has no total, because the number of functions is not known."""
    if progress.disable:
        yield
        return
    from slotwise.compilation_progress import watch_compilation

    tasks: list[TaskID] = []

    def update(compiled: int, running: bool) -> None:
        description = f"compiling, once on this machine, {compiled:,} functions so far"
        if not running:
            progress.remove_task(tasks.pop())
            after()
        elif tasks:
            progress.update(tasks[0], description=description)
        else:
            before()
            tasks.append(progress.add_task(description, total=None))

    with watch_compilation(update):
        yield
