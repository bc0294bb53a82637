"""Kernels in two versions: one checks array bounds, for callers that check bounds too, and the other does not.

Kernels of slotwise do not check bounds, because their callers in slotwise pass valid indices. A kernel from outside
slotwise may pass any index. So if a kernel that checks bounds calls a kernel of slotwise, numba compiles a copy of the
called kernel that checks bounds too, and calls this copy. Calls inside slotwise use the original kernel, so they cost
nothing extra.
"""

import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

from slotwise.kernel_cache import KernelCache

_lock = threading.RLock()  # held while a copy is created


class CheckableKernel(CPUDispatcher):
    """A compiled function, as `numba.njit` returns it. A caller that checks bounds gets a copy that checks them too."""

    _cache: Any  # numba calls its methods; without a folder, it is a cache that keeps nothing
    _folder: Path | None
    _copies: "list[CheckableKernel]"  # the checked copy, once a caller needs it

    @classmethod
    def create(cls, function: Callable[..., Any], options: dict[str, Any], folder: Path | None) -> "CheckableKernel":
        """A kernel with numba's `options` that is cached in `folder`. It is not cached if `folder` is None."""
        if not inspect.isfunction(function):
            raise TypeError(f"@kernel is written before a function, and not before a {type(function).__name__}")
        created = cls(function, targetoptions=options)
        created._folder = folder
        created._copies = []
        if folder is not None:
            created._cache = KernelCache(function, folder)
        return created

    def checked(self) -> "CheckableKernel":
        """The copy of this kernel that checks bounds, or the kernel itself if it checks them already."""
        if self.targetoptions["boundscheck"]:
            return self
        with _lock:
            if not self._copies:
                # another folder, because the names in numba's cache do not depend on the options
                folder = self._folder / "checked" if self._folder else None
                options = self.targetoptions | {"boundscheck": True}
                self._copies.append(self.create(self.py_func, options, folder))
            return self._copies[0]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super(CheckableKernel, self._for_caller()).get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return super(CheckableKernel, self._for_caller()).get_overload(sig)

    def _for_caller(self) -> "CheckableKernel":
        """The kernel or its checked copy, depending on the caller: the function that numba is compiling."""
        stack: Any = ConfigStack
        compiled = stack.top_or_none()
        return self.checked() if compiled is not None and compiled.boundscheck else self


def with_checked_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a plain function that calls checked copies of kernels.

    Functions of the same file that it calls are copied in the same way.
    """
    if not isinstance(function, FunctionType):
        return function
    names = dict(function.__globals__)
    for name, value in names.items():
        names[name] = _copy(value, names) if _is_of_file(value, function) else _checked(value)
    return _copy(function, names)


def _is_of_file(value: object, function: FunctionType) -> bool:
    return isinstance(value, FunctionType) and value.__globals__ is function.__globals__


def _copy(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _checked(value: Any) -> Any:
    if isinstance(value, CheckableKernel):
        return value.checked()
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "slotwise":
        return _CheckedModule(value)
    return value


class _CheckedModule:
    """A module of slotwise whose kernels check bounds."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _checked(getattr(self._module, name))
