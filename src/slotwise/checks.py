"""Validation of arguments. Every error message is one line that shows the value and says what is allowed."""

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BadInput(ValueError):
    """Invalid input. The message says what is wrong, where, and what would be right.

    >>> import slotwise as sw
    >>> sw.PBM(theta=[0.3, 1.3], kappa=[1.0])
    Traceback (most recent call last):
        ...
    slotwise.checks.BadInput: theta[1] = 1.3 is not in [0, 1]
    """


def integer(name: str, value: Any) -> int:
    """`value` as an int of 64 bits. 1e5 and numpy integers are valid; 1.5 and True are not."""
    too_small = isinstance(value, int | float) and value < -(2**63)
    return _integer(name, value, -(2**63), "a whole number" + (" of at least -2^63" if too_small else ""))


def integer_at_least(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`, under the rules of `integer`."""
    return _integer(name, value, least, f"a whole number of at least {least}")


def _integer(name: str, value: Any, least: int, wanted: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise BadInput(f"{name} = {format_value(value)} is not {wanted}")
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        raise BadInput(f"{name} = {format_value(value)} is not {wanted}")
    if value != int(value) or not least <= value < 2**63:
        raise BadInput(
            f"{name} = {format_value(value)} is not {wanted}" + (" and below 2^63" if value >= 2**63 else "")
        )
    return int(value)


def number(name: str, value: Any) -> float:
    """`value` as a float. It may be infinite or NaN, because callers check their own bounds. True is not valid."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise BadInput(f"{name} = {format_value(value)} is not a number")
    try:
        return float(value)
    except OverflowError:
        raise BadInput(f"{name} = {format_value(value)} is too large a number") from None


def format_value(value: object) -> str:
    """A value formatted for an error message, at most 60 characters long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


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
    """Return `array` if all its numbers are finite and lie in [low, high]."""
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


def one_of(what: str, name: object, names: Iterable[str]) -> str:
    """Return `name` if it is one of `names`. Otherwise the error shows the closest one and the whole list."""
    options = sorted(names)
    if isinstance(name, str) and name in options:
        return name
    near = get_close_matches(str(name), options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadInput(f"unknown {what} {name!r}; {hint}known: {', '.join(options) or 'none'}")


def string_mapping(what: str, value: object) -> Mapping[str, Any]:
    """Return `value` if it is a mapping with strings as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadInput(f"{what} = {format_value(value)} is not a mapping of names to values")
    return value


def string_list(what: str, values: Any) -> list[str]:
    """`values` as a list of names. A single string is an error, because it would be read as a list of letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        kind = "a string" if isinstance(values, str | bytes) else "not a list"
        raise BadInput(f"{what} = {format_value(values)} is {kind}; a list of names is needed")
    entries = list(values)
    for value in entries:
        if not isinstance(value, str):
            raise BadInput(f"{format_value(value)} in {what} is not a name; a string is needed")
    return entries


def _numbers(name: str, values: ArrayLike) -> Floats:
    """A copy as float64, so that the validated array stays the same when the caller changes the original."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "iuf":
            raise TypeError(raw.dtype)
        return np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} = {format_value(values)} is not made of numbers") from None
