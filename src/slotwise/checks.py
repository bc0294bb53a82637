"""Checks of what people hand in: one clear line that names the value and what would be right."""

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BadInput(ValueError):
    """What was handed in cannot be used; the message says what, where, and what would be right."""


def whole(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`; 1e5 and numpy integers are welcome, 1.5 and True are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise BadInput(f"{name} = {value!r} is not a whole number of at least {least}")
    if not math.isfinite(value) or value != int(value) or value < least:
        raise BadInput(f"{name} = {value!r} is not a whole number of at least {least}")
    return int(value)


def vector(name: str, values: ArrayLike) -> Floats:
    """`values` as a contiguous float64 vector of at least one number."""
    array = _numbers(name, values)
    if array.ndim != 1 or array.size == 0:
        raise BadInput(f"{name} has shape {array.shape}; a list of at least one number is needed")
    return array


def matrix(name: str, values: ArrayLike) -> Floats:
    """`values` as a contiguous float64 matrix, items x positions."""
    array = _numbers(name, values)
    if array.ndim != 2 or 0 in array.shape:
        raise BadInput(f"{name} has shape {array.shape}; a matrix, items x positions, is needed")
    return array


def within(name: str, array: Floats, low: float, high: float) -> Floats:
    """`array` itself when all its numbers lie in [low, high]; NaN does not."""
    bad = np.argwhere(~((array >= low) & (array <= high)))
    if bad.size:
        where = tuple(int(k) for k in bad[0])
        index = "][".join(str(k) for k in where)
        allowed = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"a finite number of at least {low:g}"
        raise BadInput(f"{name}[{index}] = {float(array[where])!r} is not {allowed}")
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        index = "][".join(str(k) for k in where)
        raise BadInput(f"{name}[{index}] = {float(array[where])!r} is not a finite number of at least {low:g}")
    return array


def known(what: str, name: object, names: Iterable[str]) -> str:
    """`name` itself when it is one of `names`; else an error with the nearest one and all of them."""
    options = sorted(names)
    if isinstance(name, str) and name in options:
        return name
    near = get_close_matches(str(name), options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadInput(f"unknown {what} {name!r}; {hint}known: {', '.join(options) or 'none'}")


def mapping(what: str, value: object) -> Mapping[str, Any]:
    """`value` itself when it maps names to values."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadInput(f"{what} = {value!r} is not a mapping of names to values")
    return value


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "iuf":
            raise TypeError(raw.dtype)
        return np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        shown = repr(values)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise BadInput(f"{name} = {shown} is not made of numbers") from None
