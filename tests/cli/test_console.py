"""What commands show while they work: progress bars, also while numba compiles."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import numba
import pytest
from rich.console import Console

from slotwise.cli import _console as console

COMPILING = "compiling, once on this machine"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., io.StringIO]]:
    """Replaces stderr by a console that is a terminal, or not, and returns what is written to it."""

    def replace(terminal: bool = True) -> io.StringIO:
        stream = io.StringIO()
        monkeypatch.setattr(console, "stderr", Console(file=stream, force_terminal=terminal, width=120))
        return stream

    return replace


def compile_something() -> None:
    @numba.njit
    def function(x: Any) -> Any:
        return x + 1

    function(1)


def test_bars_show_that_numba_compiles(shown) -> None:
    stream = shown()
    with console.progress_bars(1, quiet=False) as add_bar:
        add_bar("pb_mhb", 10)
        compile_something()
    assert COMPILING in stream.getvalue()
    last_frame = stream.getvalue().rpartition("pb_mhb")[2]
    assert COMPILING not in last_frame, "the bar stays after the compilation"


def test_a_command_without_bars_shows_one_only_while_numba_compiles(shown) -> None:
    stream = shown()
    with console.compile_bar(quiet=False):
        assert stream.getvalue() == ""
        compile_something()
        assert COMPILING in stream.getvalue()
        written = len(stream.getvalue())
    assert COMPILING not in stream.getvalue()[written:]


@pytest.mark.parametrize(("quiet", "terminal"), [(True, True), (False, False)])
def test_nothing_is_shown_when_quiet_or_not_on_a_terminal(shown, quiet: bool, terminal: bool) -> None:
    stream = shown(terminal)
    with console.progress_bars(1, quiet), console.compile_bar(quiet), console.status("starting", quiet) as show:
        compile_something()
        show("still starting")
    assert stream.getvalue() == ""


def test_a_status_can_change(shown) -> None:
    stream = shown()
    with console.status("starting", quiet=False) as show:
        show("compiling [12]")
    assert "compiling [12]" in stream.getvalue()  # not taken for markup
