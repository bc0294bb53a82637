"""Save fits as versioned JSON, which has every field and can be loaded, or as a Parquet table for other programs."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from slotwise.checks import BadInput, Floats, format_value, within
from slotwise.counts import Counts
from slotwise.extras import require
from slotwise.files import load_document, save_document, write_whole
from slotwise.inference.query_fit import GoodnessOfFit, QueryFit
from slotwise.inference.template import KappaTest, Template

FORMAT_VERSION = 1
SUFFIXES = (".json", ".parquet")
Fits = QueryFit | Iterable[QueryFit] | str | os.PathLike[str]  # or the path of their file
Numbers = list[float | None]  # None stands for NaN and infinity


def save_fits(fits: QueryFit | Iterable[QueryFit], path: str | os.PathLike[str]) -> None:
    """Save fits as .json for `load_fits`, or as a .parquet table with a row for each theta and kappa.

    >>> import slotwise as sw
    >>> counts = sw.Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> fits = sw.fit_queries([sw.Query("hats", ["felt", "straw"], ["top", "side"], counts)])
    >>> save_fits(fits, "fits.json")
    >>> [fit.name for fit in load_fits("fits.json")]
    ['hats']
    """
    listed = fit_list(fits)
    suffix = Path(path).suffix.lower() if isinstance(path, str | os.PathLike) else ""
    if suffix not in SUFFIXES:
        raise BadInput(f"cannot save fits as {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
    if suffix == ".json":
        shared = distinct_templates(listed)
        numbers = {id(template): k for k, template in enumerate(shared)}
        queries = [_to_saved(fit, numbers) for fit in listed]
        save_document(path, "fit", FORMAT_VERSION, _SavedFits(queries, shared))
    else:
        write_whole(path, _parquet(listed))


def load_fits(path: str | os.PathLike[str]) -> list[QueryFit]:
    """Load a .json file that `save_fits` wrote. A null becomes NaN.

    >>> import slotwise as sw
    >>> counts = sw.Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> save_fits(sw.fit_queries([sw.Query("hats", ["felt", "straw"], ["top", "side"], counts)]), "fits.json")
    >>> load_fits("fits.json")[0].kappa.round(3)
    array([1. , 0.5])
    """
    saved = load_document(path, "fit", FORMAT_VERSION, _SavedFits)
    fits = []
    for query in saved.queries:
        try:
            fits.append(_from_saved(query, saved.templates))
        except BadInput as error:
            raise BadInput(
                f"{str(path)!r} is a damaged slotwise fit: query {format_value(query.name)}: {error}"
            ) from None
    return fits


def select_fit(source: Fits, query: str | None, option: str) -> QueryFit:
    """The fit of this query, or the only fit if `query` is None.

    `option` is the option or argument with which the user can choose a query. The error message suggests it.
    """
    fits = load_fits(source) if isinstance(source, str | os.PathLike) else fit_list(source)
    if query is None and len(fits) == 1:
        return fits[0]
    for fit in fits:
        if fit.name == query:
            return fit
    names = ", ".join(format_value(fit.name) for fit in fits[:5]) + ", ..." * (len(fits) > 5)
    if not fits:
        raise BadInput("there are no fits, so no query can be chosen")
    if query is not None:
        raise BadInput(f"there is no fit of a query {format_value(query)}; the {len(fits):,} queries are {names}")
    raise BadInput(f"there are fits of {len(fits):,} queries ({names}); choose one with {option}")


def distinct_templates(fits: Iterable[QueryFit]) -> list[Template]:
    """The templates of the fits, each of them once."""
    return list({id(fit.template): fit.template for fit in fits if fit.template is not None}.values())


def fit_list(fits: QueryFit | Iterable[QueryFit]) -> list[QueryFit]:
    """Return one fit or many as a list. Raises BadInput for anything else."""
    listed = [fits] if isinstance(fits, QueryFit) or not isinstance(fits, Iterable) else list(fits)
    for fit in listed:
        if not isinstance(fit, QueryFit):
            raise BadInput(
                f"{format_value(fit)} is {type(fit).__name__}; it must be a QueryFit, as fit_queries returns"
            )
    return listed


class _SavedQueryFit(msgspec.Struct):
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
    misfit: GoodnessOfFit | None  # the name that files of version 1 have for `goodness_of_fit`
    warnings: list[str]
    template: int | None = None  # its number in `templates`
    kappa_test: KappaTest | None = None


class _SavedFits(msgspec.Struct):
    queries: list[_SavedQueryFit]
    templates: list[Template] = []


def _to_saved(fit: QueryFit, numbers: Mapping[int, int]) -> _SavedQueryFit:
    return _SavedQueryFit(
        fit.name,
        fit.items,
        fit.positions,
        fit.method,
        fit.level,
        fit.theta.tolist(),
        _finite_or_none(fit.theta_error),
        _finite_or_none(fit.theta_interval[:, 0]),
        _finite_or_none(fit.theta_interval[:, 1]),
        fit.kappa.tolist(),
        _finite_or_none(fit.kappa_error),
        _finite_or_none(fit.kappa_interval[:, 0]),
        _finite_or_none(fit.kappa_interval[:, 1]),
        fit.counts.clicks.tolist(),
        fit.counts.skips.tolist(),
        fit.counts.displays,
        fit.ess if math.isfinite(fit.ess) else None,
        fit.identifiable,
        fit.goodness_of_fit,
        fit.warnings,
        numbers.get(id(fit.template)),
        fit.kappa_test,
    )


def _finite_or_none(values: Floats) -> Numbers:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _from_saved(saved: _SavedQueryFit, templates: Sequence[Template]) -> QueryFit:
    n_items, n_positions = len(saved.items), len(saved.positions)
    counts = Counts(saved.clicks, saved.skips, saved.displays)
    if counts.clicks.shape != (n_items, n_positions):
        raise BadInput(f"clicks has the shape {counts.clicks.shape} instead of {(n_items, n_positions)}")
    if saved.template is not None and not 0 <= saved.template < len(templates):
        raise BadInput(f"template = {saved.template} is not one of the {len(templates)} templates of the file")
    return QueryFit(
        theta=within("theta", _numbers("theta", saved.theta, n_items), 0.0, 1.0),
        kappa=within("kappa", _numbers("kappa", saved.kappa, n_positions), 0.0, 1.0),
        name=saved.name,
        items=saved.items,
        positions=saved.positions,
        method=saved.method,
        level=saved.level,
        theta_error=_numbers("theta_error", saved.theta_error, n_items),
        theta_interval=_interval("theta", saved.theta_low, saved.theta_high, n_items),
        kappa_error=_numbers("kappa_error", saved.kappa_error, n_positions),
        kappa_interval=_interval("kappa", saved.kappa_low, saved.kappa_high, n_positions),
        counts=counts,
        ess=math.nan if saved.ess is None else saved.ess,
        identifiable=saved.identifiable,
        goodness_of_fit=saved.misfit,
        warnings=saved.warnings,
        template=None if saved.template is None else templates[saved.template],
        kappa_test=saved.kappa_test,
    )


def _numbers(name: str, values: Sequence[float | None], size: int) -> Floats:
    if len(values) != size:
        raise BadInput(f"{name} has {len(values)} numbers instead of {size}")
    return np.array(values, np.float64)  # None becomes NaN


def _interval(name: str, low: Numbers, high: Numbers, size: int) -> Floats:
    return np.stack([_numbers(f"{name}_low", low, size), _numbers(f"{name}_high", high, size)], axis=1)


def _parquet(fits: Sequence[QueryFit]) -> bytes:
    """One long table: for each query, a row for each theta, then a row for each kappa."""
    require("logs", "saving fits as .parquet", "pyarrow")
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


def _sums(cells: Floats) -> tuple[Floats, Floats]:
    return cells.sum(axis=1), cells.sum(axis=0)


def _column(arrow: Any, fits: Sequence[QueryFit], pair_of: Callable[[QueryFit], tuple[Floats, Floats]]) -> Any:
    values = np.concatenate([values for fit in fits for values in pair_of(fit)]) if fits else np.zeros(0)
    return arrow.array(values, arrow.float64(), mask=~np.isfinite(values))
