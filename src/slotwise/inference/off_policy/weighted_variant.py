"""Which displays of a log are weighted by their propensities: those of one variant, or all."""

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, one_of
from slotwise.inference.off_policy.estimators import ValueEstimate, inverse_propensity
from slotwise.inference.off_policy.logged_cells import LoggedCells
from slotwise.logs.display_cells import DisplayCells
from slotwise.logs.variant_days import N_CLUSTERS

ALL = "all"
HOLDOUT = "holdout"


def choose_variant(cells: DisplayCells, variant: str | None) -> str:
    """The variant whose displays are weighted. By default the holdout, because its rule does not depend on clicks.

    A log without propensities in the holdout weights all its displays.
    """
    if variant is not None:
        return one_of("variant of the log", variant, [*cells.variants, ALL])
    known = np.unique(cells.variant[np.isfinite(cells.propensity)]).tolist()
    return HOLDOUT if HOLDOUT in [cells.variants[k] for k in known] else ALL


def weighted_cells(cells: DisplayCells, variant: str, valued: bool = False) -> LoggedCells:
    """The cells of all variants, in which only the displays of `variant` have finite propensities.

    With `valued`, the values of the clicked items are earned instead of clicks.
    """
    chosen = np.isfinite(cells.propensity)
    if variant != ALL:
        chosen &= cells.variant == cells.variants.index(variant)
    return LoggedCells(
        cells.cluster,
        cells.item,
        cells.position,
        np.where(chosen, cells.propensity, np.inf),
        cells.shown,
        cells.clicked,
        cells.earned if valued else cells.clicked,
        _displays(cells, chosen),
    )


def earned_by_variant(cells: DisplayCells, level: float, valued: bool = False) -> dict[str, ValueEstimate]:
    """What the displays of each variant of the log earned themselves."""
    known = weighted_cells(cells._replace(propensity=np.ones(cells.item.size)), ALL, valued)
    found = {}
    for k, name in enumerate(cells.variants):
        own = cells.variant == k
        found[name] = inverse_propensity(known._replace(displays=_displays(cells, own)), own.astype(float), level)
    return found


def _displays(cells: DisplayCells, chosen: NDArray[np.bool_]) -> Floats:
    """The number of displays of each cluster in the chosen cells."""
    return np.asarray(np.bincount(cells.cluster, cells.displays * chosen, N_CLUSTERS), float)
