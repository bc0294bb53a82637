"""Errors of policies from outside slotwise. Each message is short, and says what went wrong and where."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.errors import NumbaError

from slotwise.bounds_checked_kernels import with_checked_kernels
from slotwise.checks import BadInput
from slotwise.policies._field_assignments import assignment_of
from slotwise.policies._source_lines import KernelCall, is_compile_error, line_of_error, line_of_name
from slotwise.policies._state_types import state_problem

MOST_CHARACTERS = 300
Calls = Callable[[], Iterable[KernelCall]]


class ContractError(Exception):
    """A policy filled in something invalid. Kernels raise it with numbers, and subclasses describe these in words."""

    def function(self) -> str:
        """The name of the function that filled in the invalid value."""
        raise NotImplementedError

    def problem(self) -> str:
        """What is wrong, and what would be right."""
        raise NotImplementedError


def is_outside(module: ModuleType) -> bool:
    """Whether a policy comes from outside slotwise. If so, its output is checked, and its errors raise BadInput."""
    return not module.__name__.startswith("slotwise.")


def name_of(module: ModuleType) -> str:
    """The name of a policy in output and messages."""
    file = getattr(module, "__file__", None)
    return Path(file).stem if file else module.__name__.rpartition(".")[2]


@contextmanager
def reported_errors(module: ModuleType, calls: Calls = list) -> Iterator[None]:
    """Replace an error of a policy from outside with BadInput. Errors of slotwise's own policies are not replaced.

    `calls` are the calls of the policy's functions that may have raised the error. They are repeated to find the line.
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # `sys.exit()` in a policy would end the process without a word
        if isinstance(error, BadInput) or not is_outside(module):
            raise
        raise BadInput(_message(module, error, calls)) from error


def reporting(module: ModuleType, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that `reported_errors` handles its errors.

    `function` first calls the policy's function `name` with its own first arguments.

    For policies of slotwise, `function` itself is returned, so that calls are not slower.
    """
    if not is_outside(module):
        return function
    called = getattr(module, name)
    n_arguments = len(inspect.signature(getattr(called, "py_func", called)).parameters)
    safe = with_checked_kernels(function)  # a policy's `init` and `grow` may be plain functions

    def call(*arguments: Any) -> Any:
        with reported_errors(module, lambda: [KernelCall(called, arguments[:n_arguments])]):
            return safe(*arguments)

    return call


def problem_at(module: ModuleType, name: str | None, problem: str) -> BadInput:
    """An error about a policy that names the line where the policy's file defines `name`."""
    line = line_of_name(module, name)
    return BadInput(f"policy {name_of(module)}: {problem}" + (f" ({line})" if line else ""))


def _message(module: ModuleType, error: BaseException, calls: Calls) -> str:
    if isinstance(error, ContractError):
        return str(problem_at(module, error.function(), error.problem()))
    not_compiled = isinstance(error, NumbaError) or is_compile_error(error)
    what = "cannot be compiled" if not_compiled else "fails"
    assignment = assignment_of(module, error)
    if assignment:
        return f"policy {name_of(module)} {what}: {assignment.problem()} ({assignment.line})"
    made = list(calls())
    wrong_state = state_problem(module, made) if not_compiled else None
    if wrong_state:
        return str(problem_at(module, "State", wrong_state))
    line = line_of_error(module, error, made)
    return f"policy {name_of(module)} {what}: {error_text(error)}" + (f" ({line})" if line else "")


def error_text(error: BaseException) -> str:
    """The error in one line. Of numba's long reports, only the cause is kept."""
    text = _cause(str(error)) if isinstance(error, NumbaError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        text = f"{type(error).__name__}: {error.msg}"
    one_line = " ".join(text.split()).removesuffix(":")
    return one_line if len(one_line) <= MOST_CHARACTERS else one_line[: MOST_CHARACTERS - 3] + "..."


def _cause(report: str) -> str:
    """The first message of a report by numba, and the call that the message is about. Names of types are shortened."""
    lines = [line.strip() for line in report.splitlines()]
    causes = [line for line in lines if line and not line.startswith(("Failed in", "During", "File", "-"))]
    message = causes[0] if causes else report
    if message.endswith(":") and len(causes) > 1:  # "No implementation of function F found for signature:"
        message += " " + causes[1].removeprefix(">>> ")
    message = re.sub(r"Function\(<(?:built-in function|class|ufunc) '?([^'>]+)'?>\)", r"\1", message)
    return re.sub(r"\b(of type \w+)\(.*\)", r"\1", message)
