"""Find places where a kernel assigns to a field of a NamedTuple. Numba reports them without a line number."""

import dis
import linecache
import re
import traceback
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import NamedTuple

from slotwise.counts import CountArrays
from slotwise.policies._source_lines import SourceLine, is_compile_error


class FieldAssignment(NamedTuple):
    """A line such as `state.rounds += 1`: its target is `state.rounds`, and the owner of the field is State."""

    line: SourceLine
    target: str
    owner: str

    def problem(self) -> str:
        """What is wrong, and what would be right."""
        if self.owner == "Params":
            return f"{self.target} cannot be replaced, because settings stay the same; keep what changes in State"
        return (
            f"a field of {self.owner} cannot be replaced; "
            f"make it an array and change its elements, as in {self.target}[0] += 1"
        )


def assignment_of(module: ModuleType, error: BaseException) -> FieldAssignment | None:
    """The assignment that caused an error.

    Numba fails on any such assignment in a kernel. Plain Python fails only when it runs the line.
    """
    if is_compile_error(error):
        return next(_assignments(module, _kernels(module)), None)
    if not isinstance(error, AttributeError):
        return None
    raised_at = {(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)}
    return next((found for found in _assignments(module, _functions(module)) if found.line in raised_at), None)


def _kernels(module: ModuleType) -> list[FunctionType]:
    functions = (getattr(value, "py_func", None) for value in vars(module).values())
    return [function for function in functions if isinstance(function, FunctionType)]


def _functions(module: ModuleType) -> list[FunctionType]:
    return _kernels(module) + [value for value in vars(module).values() if isinstance(value, FunctionType)]


def _assignments(module: ModuleType, functions: list[FunctionType]) -> Iterator[FieldAssignment]:
    """The assignments in functions of the policy's file.

    They are read from the bytecode, because Python's parser is not thread-safe.
    """
    for function in functions:
        file = function.__code__.co_filename
        stores = (step for step in dis.get_instructions(function) if step.opname == "STORE_ATTR")
        for step in stores if file == getattr(module, "__file__", None) else ():
            number = (step.positions and step.positions.lineno) or 0
            target = re.search(rf"[\w.]+\.{step.argval}\b", linecache.getline(file, number))
            owner = _owner(module, target[0]) if target else None
            if target and owner:
                yield FieldAssignment(SourceLine(file, number), target[0], owner)


def _owner(module: ModuleType, target: str) -> str | None:
    """The class that the target is a field of. Other objects may have fields that can be assigned to."""
    classes = [module.State, CountArrays, module.Params]
    if target.startswith("params."):
        classes.reverse()
    field = target.rpartition(".")[2]
    return next((owner.__name__ for owner in classes if field in owner._fields), None)
