"""The function `fit_click_model` makes a click model from the sessions of a log."""

import importlib
from typing import Any

from slotwise.checks import BadInput, one_of
from slotwise.clickmodels import clickmodels
from slotwise.clickmodels._click_model import ClickModel, make_model
from slotwise.inference.click_models import fitted_models
from slotwise.logs.sessions import QuerySessions


def fit_click_model(name: str, sessions: QuerySessions, prior: float = 0.0) -> ClickModel:
    """The click model that explains the sessions best, for `simulate`.

    With `prior` > 0, every probability has a Beta(prior + 1, prior + 1) prior.

    >>> import slotwise as sw
    >>> hats = sw.make_sessions("hats", ["felt", "straw"], ["1", "2"], [[0, 1]] * 4, [[1, 0], [0, 1], [0, 1], [0, 0]])
    >>> fit_click_model("cascade", hats)
    Cascade(attraction=[0.25, 0.67], positions=2)
    """
    if one_of("click model", name, clickmodels()) not in fitted_models():
        raise BadInput(f"{name} cannot be fitted to a log, because a log does not say what is known of each visitor")
    fit: Any = importlib.import_module(f"slotwise.inference.click_models.{name}").fit(sessions, prior)
    found = {group.kind: group.values for group in fit.parameters(0.9)}
    if name in ("cascade", "conjunctive"):
        found["positions"] = len(sessions.positions)
    return make_model(name, found)
