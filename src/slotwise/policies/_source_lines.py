"""Find the line of a policy's file that an error comes from, even if numba reports another line or none."""

import linecache
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np

from slotwise.bounds_checked_kernels import with_checked_kernels
from slotwise.jit import is_editable

PACKAGE = Path(__file__).parent.parent
REPLAY_SECONDS = 2.0  # an error that needs longer to occur again is reported without its line
NUMBA_LOCATIONS = re.compile(r'(?:File "([^"\n]+)", line (\d+))|(?: at (/[^\n]+?) \((\d+)\))')


class KernelCall(NamedTuple):
    """A function of a policy and arguments for it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class SourceLine(NamedTuple):
    """A line of a file. Lines are numbered from 1, and line 0 means the file as a whole."""

    file: str
    line: int

    def __str__(self) -> str:
        path = Path(self.file)
        name = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else self.file
        linecache.checkcache(self.file)
        source = linecache.getline(self.file, self.line).strip()
        return f"{name}, line {self.line}: {source}" if source else name


def line_of_error(module: ModuleType, error: BaseException, calls: Iterable[KernelCall]) -> SourceLine | None:
    """The line of the user's code that an error comes from. `calls` are the calls that may have raised the error."""
    calls = list(calls)
    for line in _candidates(module, error, calls):
        if _is_users(module, line.file):
            return line
    return line_of_name(module, calls[0].function.__name__) if len(calls) == 1 else line_of_name(module, None)


def line_of_name(module: ModuleType, name: str | None) -> SourceLine | None:
    """The line where a policy's file defines a name, or the file as a whole if the line is not found."""
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    definition = rf"(def|class) {name}\b|{name}\s*[:=]"
    return next(_lines_with(file, definition), SourceLine(file, 0)) if name else SourceLine(file, 0)


def is_compile_error(error: BaseException) -> bool:
    """Whether the error was raised while numba compiled a kernel. Not all such errors have a class of numba."""
    return any(name == "_compile_for_args" for _, name, _ in _frames(error))


def _candidates(module: ModuleType, error: BaseException, calls: list[KernelCall]) -> Iterator[SourceLine]:
    """Lines that the error may come from. The most exact come first, and those that take long to find come last."""
    if isinstance(error, SyntaxError) and error.filename:
        yield SourceLine(error.filename, error.lineno or 0)
    if is_compile_error(error):
        alone = next(filter(None, (_compiled_alone(call) for call in calls)), error)
        yield from _reported_by_numba(alone)
        if isinstance(error, AttributeError):
            yield from _uses_of(module, error.name)
    else:
        yield from _raised_at(error)
    again = next(filter(None, (_called_again(call) for call in calls)), None)
    if type(again) is type(error):
        yield from _raised_at(again)


def _raised_at(error: BaseException | None) -> Iterator[SourceLine]:
    """The frames of the traceback, the innermost first. A compiled kernel has a frame only for a `raise` statement."""
    for file, _, line in reversed(_frames(error)):
        yield SourceLine(file, line)


def _frames(error: BaseException | None) -> list[tuple[str, str, int]]:
    found, trace = [], error.__traceback__ if error else None
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append((code.co_filename, code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _reported_by_numba(error: BaseException) -> Iterator[SourceLine]:
    for quoted, line, file, number in NUMBA_LOCATIONS.findall(str(error)):
        yield SourceLine(str(Path(quoted or file).resolve()), int(line or number))
    location: Any = getattr(error, "loc", None)
    if location is not None:
        yield SourceLine(location.filename, location.line)


def _uses_of(module: ModuleType, attribute: str | None) -> Iterator[SourceLine]:
    """The lines of the policy's file that contain `.attribute`. Numba's errors about attributes name no line."""
    file = getattr(module, "__file__", None)
    if file and attribute:
        yield from _lines_with(file, rf"[^#]*\.{re.escape(attribute)}\b")


def _compiled_alone(call: KernelCall) -> Exception | None:
    """The error that occurs when a kernel is compiled by itself.

    The lines of this error are those of the kernel, not of the loop that calls it.
    """
    compile_it = getattr(call.function, "compile", None)
    type_of: Any = numba.typeof
    try:
        if compile_it is not None:
            compile_it(tuple(type_of(value) for value in call.arguments))
    except Exception as error:
        return error
    return None


def _called_again(call: KernelCall) -> Exception | None:
    """The error from repeating a call in plain Python. It has line numbers, which compiled code often lacks."""
    try:
        replay(call)
    except Exception as error:
        return error
    return None


def replay(call: KernelCall) -> Any:
    """Repeat a call in plain Python. TimeoutError is raised if this takes too long."""
    function = with_checked_kernels(getattr(call.function, "py_func", call.function))
    with _time_limit(REPLAY_SECONDS), np.errstate(all="ignore"):
        return function(*call.arguments)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in Python code that runs longer than `seconds`."""
    deadline, before = time.monotonic() + seconds, sys.gettrace()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if time.monotonic() > deadline:
            raise TimeoutError
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _is_users(module: ModuleType, file: str) -> bool:
    """Whether a file is the policy's file, or one that it imports and that is not part of an installed package."""
    path = Path(file)
    if file == getattr(module, "__file__", None):
        return True
    return path.suffix == ".py" and path.is_file() and not path.is_relative_to(PACKAGE) and is_editable(path)


def _lines_with(file: str, pattern: str) -> Iterator[SourceLine]:
    """The lines that begin with a pattern. The file is searched as text, because Python's parser is not thread-safe."""
    linecache.checkcache(file)  # an edited file is read again
    for number, text in enumerate(linecache.getlines(file), start=1):
        if re.match(pattern, text):
            yield SourceLine(file, number)
