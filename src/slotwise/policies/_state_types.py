"""Find a field of a policy's State that numba cannot pass to a kernel. Numba's error names another variable."""

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.policies._source_lines import KernelCall, replay


def state_problem(module: ModuleType, calls: Iterable[KernelCall]) -> str | None:
    """What is wrong with the state that one of the calls takes or returns. None if nothing is wrong."""
    for call in calls:
        for state in _states(module, call):
            for name, value in _fields("State", state):
                if not _is_allowed(value):
                    kind = type(value).__name__
                    return f"{name} is of type {kind}; State holds numbers, arrays and NamedTuples of them"
    return None


def _states(module: ModuleType, call: KernelCall) -> Iterator[Any]:
    """The states among the arguments. `init` has no such argument, so the state that it returns is used instead."""
    states = [value for value in call.arguments if isinstance(value, module.State)]
    if states:
        yield from states
        return
    try:
        returned = replay(call)
    except Exception:
        return  # reported by the caller
    if isinstance(returned, module.State):
        yield returned


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The name and value of each field. A field that is a NamedTuple is replaced by the fields in it."""
    if not hasattr(value, "_asdict"):
        yield name, value
        return
    for field, inner in value._asdict().items():
        yield from _fields(f"{name}.{field}", inner)


def _is_allowed(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_allowed(inner) for inner in value)
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    return isinstance(value, int | float | complex | np.number | np.bool_)
