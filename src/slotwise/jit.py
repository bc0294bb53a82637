"""The @kernel decorator, and a compile cache that is never stale.

numba's own disk cache checks only the file that defines a function. After a change to a helper that this file imports,
numba silently loads the old machine code. Here every kernel is cached in a folder named after a digest of all source
files that it can reach by imports, so a changed source leads to another folder. A folder that was not used for a month
is deleted.
"""

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, cast, overload

import numba
import numpy as np
import platformdirs

from slotwise.bounds_checked_kernels import CheckableKernel

Function = TypeVar("Function", bound=Callable[..., Any])

CACHE_VARIABLE = "SLOTWISE_CACHE_DIR"
KEEP_SECONDS = 30 * 24 * 3600

numba_config: Any = numba.config
_STARTED = time.time()
_DEPENDENCIES = {"numpy", "numba", "llvmlite", "scipy", "platformdirs", "msgspec"}  # not searched, since never edited
_known_sources: "dict[tuple[str, ...], tuple[_Source, ...]]" = {}


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(
    *, inline: bool = False, depends: tuple[ModuleType, ...] = (), nogil: bool = True
) -> Callable[[Function], Function]: ...
def kernel(
    function: Function | None = None,
    *,
    inline: bool = False,
    depends: tuple[ModuleType, ...] = (),
    nogil: bool = True,
) -> Function | Callable[[Function], Function]:
    """Compile a function with numba and cache it on disk. The kernel releases the GIL.

    With NUMBA_DISABLE_JIT=1, the function stays plain Python. `inline` inlines the kernel into its callers. In a call
    that is not inlined, numba counts references to every array argument, which costs more than the arithmetic of a
    small kernel. `depends` lists modules that the function closes over, so that the cache key includes their sources.
    With `nogil=False` the kernel keeps the GIL. This suits a kernel that takes microseconds in a process with busy
    threads, where getting the GIL back would take longer than the kernel itself.

    Outside slotwise, a kernel checks array bounds, so a wrong index raises IndexError instead of corrupting memory. The
    kernels of slotwise that it calls then check bounds too (see `bounds_checked_kernels`).

    Arguments are numbers, arrays, or tuples whose classes the kernel's module can reach by imports. The reason is that
    numba pickles the names of argument types into the cache. If a class from any other file were renamed, the digest
    would not change, and the cache would be stale.
    """
    if function is None:
        return lambda decorated: _compile(decorated, inline, depends, nogil)
    return _compile(function, inline, depends, nogil)


def _compile(function: Function, inline: bool, depends: tuple[ModuleType, ...], nogil: bool) -> Function:
    if numba_config.DISABLE_JIT:
        return function
    folder = cache_folder(function.__module__, *(module.__name__ for module in depends))
    options = {"nopython": True, "nogil": nogil, "error_model": "numpy", "forceinline": inline}
    options |= {"no_cfunc_wrapper": True}  # only C and first-class functions would call it; compiling takes 7 % longer
    outside = not function.__module__.startswith("slotwise.")
    return cast(Function, CheckableKernel.create(function, options | {"boundscheck": outside}, folder))


def is_kernel(function: Callable[..., Any]) -> bool:
    """Whether compiled code can call a function. With NUMBA_DISABLE_JIT=1, this is true for any function."""
    return bool(numba_config.DISABLE_JIT) or hasattr(function, "py_func")


def checks_bounds(function: Callable[..., Any]) -> bool:
    """Whether a kernel checks its indices or is part of slotwise. A plain `@numba.njit` kernel does not check them."""
    if numba_config.DISABLE_JIT or getattr(function, "__module__", "").startswith("slotwise."):
        return True
    return bool(getattr(function, "targetoptions", {}).get("boundscheck"))


def direct(function: Function) -> Function:
    """The compiled code of a kernel that was called before, for callers whose arguments always have the same types.

    Calling it skips numba's check of the argument types, which takes longer than passing the arguments.
    """
    overloads = getattr(function, "overloads", {})
    return cast(Function, next(iter(overloads.values())).entry_point) if len(overloads) == 1 else function


def cache_folder(*modules: str) -> Path | None:
    """The cache folder of kernels that can reach these modules, or None if caching would not be safe."""
    sources = _sources(modules)
    if not set(modules) <= {source.name for source in sources} - {"__main__"}:
        return None  # another process cannot import what is defined at a prompt or in __main__
    if max(source.modified for source in sources) > _STARTED * 1e9:
        return None  # the file was edited since this process started, so it may differ from the imported code
    return _usable(_root() / _digest(f"{numba.__version__} {sys.version}", sources))


def source_digest(*modules: str) -> str:
    """A digest of all that the results of these modules depend on: reachable sources, numba and numpy versions."""
    return _digest(f"numba {numba.__version__} numpy {np.__version__}", _sources(modules))


class _Source(NamedTuple):
    name: str
    path: Path
    modified: int  # nanoseconds


def _sources(modules: tuple[str, ...]) -> tuple[_Source, ...]:
    """The sources of all reachable modules, sorted by name. The result is kept until one of the sources changes."""
    known = _known_sources.get(modules)
    if known is None or any(source.path.stat().st_mtime_ns != source.modified for source in known):
        reachable = sorted(_reachable(modules))
        known = tuple(_Source(name, path, path.stat().st_mtime_ns) for name, path in reachable)
        _known_sources[modules] = known
    return known


@cache
def _digest(versions: str, sources: tuple[_Source, ...]) -> str:
    digest = hashlib.sha256(versions.encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + _content(source.path, source.modified) + b"\0")
    return digest.hexdigest()[:20]


def _root() -> Path:
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path("slotwise")) / "kernels"


@cache
def _usable(folder: Path) -> Path | None:
    """The folder, created if it is missing, or None if it cannot be created. It may be read-only."""
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            prune(folder.parent)
    except OSError:
        return None  # each process compiles for itself
    with suppress(OSError):  # kernels in a read-only folder are never pruned
        os.utime(folder)
    return folder


def prune(root: Path, keep_seconds: float = KEEP_SECONDS) -> None:
    """Delete the folders that no process has used for `keep_seconds`."""
    limit = time.time() - keep_seconds
    for folder in root.iterdir():
        try:
            if folder.stat().st_mtime < limit:
                shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:
            continue  # another process deleted it first


def _reachable(roots: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The roots and every module that they import, directly or indirectly, as (name, source file)."""
    packages = {"slotwise", *(name.partition(".")[0] for name in roots)}
    pending, visited = list(roots), set(roots)
    while pending:
        name = pending.pop()
        path = None if name.partition(".")[0] in _DEPENDENCIES else _source(name)
        if path is None or not (is_editable(path) or name.partition(".")[0] in packages):
            continue
        yield name, path
        new = _imports(name, path) - visited
        visited |= new
        pending += new


def _source(name: str) -> Path | None:
    """The source file of a module. This does not import the module."""
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None) if module else _find(name)
    return Path(origin) if origin and origin.endswith(".py") else None


def _find(name: str) -> str | None:
    parent, _, _ = name.rpartition(".")
    search = None
    if parent:
        search = getattr(sys.modules.get(parent), "__path__", None)
        if search is None:
            return None  # `from module import function`: the file of the module is included anyway
    spec = importlib.machinery.PathFinder.find_spec(name, search)
    return spec.origin if spec else None


@cache
def is_editable(path: Path) -> bool:
    """Whether a file may be edited: it is in neither the standard library nor an installed package."""
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return False
    resolved = path.resolve()
    return not any(resolved.is_relative_to(folder) for folder in _installed())


@cache
def _installed() -> set[Path]:
    folders = (sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return {Path(folder).resolve() for folder in folders if folder}


@cache
def _content(path: Path, modified: int) -> bytes:
    return path.read_bytes()


def _imports(name: str, path: Path) -> frozenset[str]:
    """Every dotted name that a source file imports. Not every name is a module."""
    return _imports_of(name, path, _content(path, path.stat().st_mtime_ns))


@cache
def _imports_of(name: str, path: Path, content: bytes) -> frozenset[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    names: set[str] = set()
    for node in _statements(ast.parse(content)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                components = alias.name.split(".")
                names |= {".".join(components[: k + 1]) for k in range(len(components))}
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue  # Python itself raises the error when it runs the import
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(names)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside a node. Expressions are left out, because they import nothing and are most of the tree."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, block, ())
        for child in inner if isinstance(inner, list) else ():
            yield child
            yield from _statements(child)
