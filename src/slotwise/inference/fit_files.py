"""Fits as files: versioned JSON that holds everything and is read back, and a Parquet table for other programs."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from slotwise.checks import BadInput, Floats, shown, within
from slotwise.counts import Counts
from slotwise.files import load_document, save_document, write_whole
from slotwise.inference.query_fit import Misfit, QueryFit

FORMAT_VERSION = 1
SUFFIXES = (".json", ".parquet")
Fits = QueryFit | Iterable[QueryFit] | str | os.PathLike[str]  # or the file they are in
Numbers = list[float | None]  # None: not known, NaN or infinite


def save_fits(fits: QueryFit | Iterable[QueryFit], path: str | os.PathLike[str]) -> None:
    """Save fits, whole: as .json for `load_fits`, or as a .parquet table with a row for each theta and kappa."""
    listed = listed_fits(fits)
    suffix = Path(path).suffix.lower() if isinstance(path, str | os.PathLike) else ""
    if suffix not in SUFFIXES:
        raise BadInput(f"cannot save fits as {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
    if suffix == ".json":
        save_document(path, "fit", FORMAT_VERSION, _Saved([_plain(one) for one in listed]))
    else:
        write_whole(path, _parquet(listed))


def load_fits(path: str | os.PathLike[str]) -> list[QueryFit]:
    """Read back what `save_fits` wrote as .json; a number that was not known is NaN."""
    saved = load_document(path, "fit", FORMAT_VERSION, _Saved)
    fits = []
    for one in saved.queries:
        try:
            fits.append(_read(one))
        except BadInput as error:
            raise BadInput(f"{str(path)!r} is a damaged slotwise fit: query {shown(one.name)}: {error}") from None
    return fits


def chosen(source: Fits, query: str | None, option: str) -> QueryFit:
    """The fit of that query, or the only one there is; `option` is how to name it."""
    if isinstance(source, str | os.PathLike):
        fits = load_fits(source)
    else:
        fits = listed_fits(source)
    if query is None and len(fits) == 1:
        return fits[0]
    for one in fits:
        if one.name == query:
            return one
    some = ", ".join(shown(one.name) for one in fits[:5]) + ", ..." * (len(fits) > 5)
    if query is not None:
        raise BadInput(f"no query {shown(query)} was fitted; there are {len(fits):,}: {some}")
    if not fits:
        raise BadInput("no query was fitted, so there is none to choose")
    raise BadInput(f"{len(fits):,} queries were fitted ({some}); choose one with {option}")


def listed_fits(fits: QueryFit | Iterable[QueryFit]) -> list[QueryFit]:
    """One fit or many, checked."""
    wanted = "what fit_queries gives is needed"
    if not isinstance(fits, QueryFit | Iterable):
        raise BadInput(f"{shown(fits)} is {type(fits).__name__}; {wanted}")
    listed = [fits] if isinstance(fits, QueryFit) else list(fits)
    for one in listed:
        if not isinstance(one, QueryFit):
            raise BadInput(f"{shown(one)} is {type(one).__name__}; {wanted}")
    return listed


class _Query(msgspec.Struct):
    name: str
    items: list[str]
    positions: list[str]
    method: str
    level: float
    theta: list[float]
    theta_error: Numbers
    theta_low: Numbers
    theta_high: Numbers
    kappa: list[float]
    kappa_error: Numbers
    kappa_low: Numbers
    kappa_high: Numbers
    clicks: list[list[float]]
    skips: list[list[float]]
    displays: float
    ess: float | None
    identifiable: bool
    misfit: Misfit | None
    warnings: list[str]


class _Saved(msgspec.Struct):
    queries: list[_Query]


def _plain(fit: QueryFit) -> _Query:
    return _Query(
        fit.name,
        fit.items,
        fit.positions,
        fit.method,
        fit.level,
        fit.theta.tolist(),
        _or_none(fit.theta_error),
        _or_none(fit.theta_interval[:, 0]),
        _or_none(fit.theta_interval[:, 1]),
        fit.kappa.tolist(),
        _or_none(fit.kappa_error),
        _or_none(fit.kappa_interval[:, 0]),
        _or_none(fit.kappa_interval[:, 1]),
        fit.counts.clicks.tolist(),
        fit.counts.skips.tolist(),
        fit.counts.displays,
        fit.ess if math.isfinite(fit.ess) else None,
        fit.identifiable,
        fit.misfit,
        fit.warnings,
    )


def _or_none(values: Floats) -> Numbers:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _read(saved: _Query) -> QueryFit:
    n_items, n_positions = len(saved.items), len(saved.positions)
    counts = Counts(saved.clicks, saved.skips, saved.displays)
    if counts.clicks.shape != (n_items, n_positions):
        raise BadInput(f"clicks is {counts.clicks.shape} where {(n_items, n_positions)} is needed")
    return QueryFit(
        theta=within("theta", _numbers("theta", saved.theta, n_items), 0.0, 1.0),
        kappa=within("kappa", _numbers("kappa", saved.kappa, n_positions), 0.0, 1.0),
        name=saved.name,
        items=saved.items,
        positions=saved.positions,
        method=saved.method,
        level=saved.level,
        theta_error=_numbers("theta_error", saved.theta_error, n_items),
        theta_interval=_ends("theta", saved.theta_low, saved.theta_high, n_items),
        kappa_error=_numbers("kappa_error", saved.kappa_error, n_positions),
        kappa_interval=_ends("kappa", saved.kappa_low, saved.kappa_high, n_positions),
        counts=counts,
        ess=math.nan if saved.ess is None else saved.ess,
        identifiable=saved.identifiable,
        misfit=saved.misfit,
        warnings=saved.warnings,
    )


def _numbers(name: str, values: Sequence[float | None], size: int) -> Floats:
    if len(values) != size:
        raise BadInput(f"{name} has {len(values)} numbers where {size} are needed")
    return np.array(values, np.float64)  # None becomes NaN


def _ends(name: str, low: Numbers, high: Numbers, size: int) -> Floats:
    return np.stack([_numbers(f"{name}_low", low, size), _numbers(f"{name}_high", high, size)], axis=1)


def _parquet(fits: Sequence[QueryFit]) -> bytes:
    """One long table: a row for each theta, then a row for each kappa, of each query."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    sizes = [(len(fit.items), len(fit.positions)) for fit in fits]
    rows = [sum(size) for size in sizes]
    table = {
        "query": arrow.array(_repeated([fit.name for fit in fits], rows), arrow.string()),
        "kind": arrow.array([kind for n, m in sizes for kind in ["theta"] * n + ["kappa"] * m], arrow.string()),
        "name": arrow.array([name for fit in fits for name in [*fit.items, *fit.positions]], arrow.string()),
        "value": _column(arrow, fits, lambda fit: (fit.theta, fit.kappa)),
        "error": _column(arrow, fits, lambda fit: (fit.theta_error, fit.kappa_error)),
        "low": _column(arrow, fits, lambda fit: (fit.theta_interval[:, 0], fit.kappa_interval[:, 0])),
        "high": _column(arrow, fits, lambda fit: (fit.theta_interval[:, 1], fit.kappa_interval[:, 1])),
        "level": arrow.array(_repeated([fit.level for fit in fits], rows), arrow.float64()),
        "clicks": _column(arrow, fits, lambda fit: _sums(fit.counts.clicks)),
        "shown": _column(arrow, fits, lambda fit: _sums(fit.counts.clicks + fit.counts.skips)),
        "method": arrow.array(_repeated([fit.method for fit in fits], rows), arrow.string()),
        "identifiable": arrow.array(_repeated([fit.identifiable for fit in fits], rows), arrow.bool_()),
    }
    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.table(table), sink)
    return bytes(sink.getvalue().to_pybytes())


def _repeated(values: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    return [value for value, n in zip(values, rows, strict=True) for _ in range(n)]


def _sums(counts: Floats) -> tuple[Floats, Floats]:
    return counts.sum(axis=1), counts.sum(axis=0)


def _column(arrow: Any, fits: Sequence[QueryFit], of: Callable[[QueryFit], tuple[Floats, Floats]]) -> Any:
    values = np.concatenate([part for fit in fits for part in of(fit)]) if fits else np.zeros(0)
    return arrow.array(values, arrow.float64(), mask=~np.isfinite(values))
