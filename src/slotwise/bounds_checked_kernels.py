"""Kernels whose array bounds are checked if a caller checks its own.

Kernels of slotwise do not check bounds, because their callers in slotwise pass valid indices. A kernel from outside may
pass any. So when a kernel that checks bounds calls a kernel that does not, a copy that does is compiled and called
instead. Kernels that slotwise calls itself are compiled as before and take no longer.
"""

import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

numba_config: Any = numba.config
_lock = threading.RLock()  # held while the settings of numba are changed, or a copy is created


class CheckableKernel(CPUDispatcher):
    """A compiled function, as `numba.njit` returns it. Compiled callers get the copy that suits them."""

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
            with _lock:
                before, numba_config.CACHE_DIR = numba_config.CACHE_DIR, str(folder)
                try:
                    created.enable_caching()
                finally:
                    numba_config.CACHE_DIR = before
        return created

    def checked(self) -> "CheckableKernel":
        """The copy of this kernel that checks bounds, or the kernel itself if it does so."""
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
        """The kernel or its checked copy. The function that numba is compiling decides: it is the caller."""
        stack: Any = ConfigStack
        compiled = stack.top_or_none()
        return self.checked() if compiled is not None and compiled.boundscheck else self


def with_checked_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a plain function that calls checked copies of kernels. So do the functions of the same file."""
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
