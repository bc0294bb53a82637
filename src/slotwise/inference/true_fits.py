"""The true theta and kappa of a synthetic log in the form of fits, so that a fit can be compared with the truth."""

from collections.abc import Iterable

import numpy as np

from slotwise.counts import Counts
from slotwise.inference.query_fit import QueryFit
from slotwise.logs.synthetic_traffic import KnownModel


def true_fits(models: Iterable[KnownModel]) -> list[QueryFit]:
    """A fit without counts for each query. Its values are the truth, so its errors are 0."""
    return [_true_fit(model) for model in models]


def _true_fit(model: KnownModel) -> QueryFit:
    theta, kappa = np.asarray(model.theta, np.float64), np.asarray(model.kappa, np.float64)
    nothing = np.zeros((theta.size, kappa.size))
    return QueryFit(
        theta=theta,
        kappa=kappa,
        name=model.query,
        items=[str(item) for item in model.items],
        positions=[str(position) for position in range(1, kappa.size + 1)],
        method="truth",
        level=1.0,
        theta_error=np.zeros(theta.size),
        theta_interval=np.stack([theta, theta], axis=1),
        kappa_error=np.zeros(kappa.size),
        kappa_interval=np.stack([kappa, kappa], axis=1),
        counts=Counts(nothing, nothing),
        ess=np.nan,
        identifiable=True,
        goodness_of_fit=None,
        warnings=[],
    )
