"""slotwise learns, from clicks alone, which items to show and in which position of a page."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from slotwise.clickmodels import clickmodels
from slotwise.policies import policies
from slotwise.version import __version__

if TYPE_CHECKING:
    from slotwise.charts import click_model_chart, fit_chart, regret_chart, save_chart
    from slotwise.checks import BadInput
    from slotwise.clickmodels.cascade import Cascade
    from slotwise.clickmodels.conjunctive import Conjunctive
    from slotwise.clickmodels.contextual_pbm import ContextualPBM
    from slotwise.clickmodels.dcm import DCM
    from slotwise.clickmodels.linear_cascade import LinearCascade
    from slotwise.clickmodels.linear_pbm import LinearPBM
    from slotwise.clickmodels.pbm import PBM
    from slotwise.clickmodels.rank1 import Rank1
    from slotwise.clickmodels.ratings import Ratings
    from slotwise.counts import Counts
    from slotwise.extras import MissingExtra
    from slotwise.inference.estimation.fit import Fit, fit, fit_many
    from slotwise.inference.fit_click_model import fit_click_model
    from slotwise.inference.fit_files import load_fits, save_fits
    from slotwise.inference.fit_queries import fit_queries
    from slotwise.inference.query_fit import QueryFit
    from slotwise.inference.sampling.posterior import Posterior, posterior
    from slotwise.logs.query import Query
    from slotwise.logs.read_log import read_log
    from slotwise.logs.read_sessions import read_sessions
    from slotwise.logs.sessions import QuerySessions, make_sessions
    from slotwise.recommender import Recommender
    from slotwise.simulation.result import Result
    from slotwise.simulation.simulate import simulate

__all__ = [
    "DCM",
    "PBM",
    "BadInput",
    "Cascade",
    "Conjunctive",
    "ContextualPBM",
    "Counts",
    "Fit",
    "LinearCascade",
    "LinearPBM",
    "MissingExtra",
    "Posterior",
    "Query",
    "QueryFit",
    "QuerySessions",
    "Rank1",
    "Ratings",
    "Recommender",
    "Result",
    "__version__",
    "click_model_chart",
    "clickmodels",
    "fit",
    "fit_chart",
    "fit_click_model",
    "fit_many",
    "fit_queries",
    "load_fits",
    "make_sessions",
    "policies",
    "posterior",
    "read_log",
    "read_sessions",
    "regret_chart",
    "save_chart",
    "save_fits",
    "simulate",
]

_MODULES = {
    "DCM": "slotwise.clickmodels.dcm",
    "PBM": "slotwise.clickmodels.pbm",
    "BadInput": "slotwise.checks",
    "Cascade": "slotwise.clickmodels.cascade",
    "Conjunctive": "slotwise.clickmodels.conjunctive",
    "ContextualPBM": "slotwise.clickmodels.contextual_pbm",
    "Counts": "slotwise.counts",
    "Fit": "slotwise.inference.estimation.fit",
    "LinearCascade": "slotwise.clickmodels.linear_cascade",
    "LinearPBM": "slotwise.clickmodels.linear_pbm",
    "MissingExtra": "slotwise.extras",
    "Posterior": "slotwise.inference.sampling.posterior",
    "Query": "slotwise.logs.query",
    "QueryFit": "slotwise.inference.query_fit",
    "Rank1": "slotwise.clickmodels.rank1",
    "Ratings": "slotwise.clickmodels.ratings",
    "Recommender": "slotwise.recommender",
    "Result": "slotwise.simulation.result",
    "QuerySessions": "slotwise.logs.sessions",
    "click_model_chart": "slotwise.charts",
    "fit": "slotwise.inference.estimation.fit",
    "fit_chart": "slotwise.charts",
    "fit_click_model": "slotwise.inference.fit_click_model",
    "fit_many": "slotwise.inference.estimation.fit",
    "fit_queries": "slotwise.inference.fit_queries",
    "load_fits": "slotwise.inference.fit_files",
    "make_sessions": "slotwise.logs.sessions",
    "posterior": "slotwise.inference.sampling.posterior",
    "read_log": "slotwise.logs.read_log",
    "read_sessions": "slotwise.logs.read_sessions",
    "regret_chart": "slotwise.charts",
    "save_chart": "slotwise.charts",
    "save_fits": "slotwise.inference.fit_files",
    "simulate": "slotwise.simulation.simulate",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because importing numba takes longer than everything else."""
    if name not in _MODULES:
        raise AttributeError(f"module 'slotwise' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
