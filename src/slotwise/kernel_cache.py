"""The disk cache of one kernel, in a given folder that may be read-only.

numba's own cache refuses a folder that it cannot write to. A container image brings compiled kernels in such a folder.
"""
# mypy: allow-untyped-calls

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator


class KernelCache(FunctionCache):
    """Loads and saves the compiled versions of a function.

    A version that cannot be read is compiled, and a version that cannot be written is used all the same.
    """

    _impl_class: Any

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._impl_class = partial(_CacheFiles, folder)
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(OSError):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # the folder is read-only, or the disk is full
            super().save_overload(sig, data)


class _CacheFiles(CompileResultCacheImpl):
    _locator_classes: list[Any]

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        self._locator_classes = [SimpleNamespace(from_function=partial(_CacheLocator, folder))]
        super().__init__(function)


class _CacheLocator(UserProvidedCacheLocator):
    """Names the subfolder by the module. So copies of the same source in several places share their compiled kernels.

    numba's own locator names it by the path of the source, keeps the time of its last edit, and writes a file to try
    the folder. Neither path nor time matters here, because the name of `folder` is a digest of all sources.
    """

    def __init__(self, folder: Path, function: Callable[..., Any], source: str) -> None:
        self._py_file, self._lineno = source, function.__code__.co_firstlineno
        self._cache_path = str(folder / function.__module__)

    def get_source_stamp(self) -> int:
        return 0  # numba ignores what is cached if the stamp differs
