"""Compare click models on the sessions of a query: how well each predicts sessions that it was not fitted to."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from slotwise.checks import Floats, one_of
from slotwise.inference.click_models import compared_models, fitted_models
from slotwise.inference.click_models._parameters import Parameters
from slotwise.inference.click_models._session_fit import SessionFit
from slotwise.inference.click_verdict import verdict
from slotwise.logs.sessions import FOLDS, QuerySessions

AUTO = "auto"
PRIOR = 0.5  # of the fits to one half, so that what never happened there is not impossible in the other half
CLEAR = 2.0  # standard errors by which a model must be behind another to be worse
CLEAR_TOTAL = 2.0  # and the log of the likelihood ratio, since errors mean little if the models predict the same
MOST_IMPOSSIBLE = 3  # a bootstrap sample lacks all of 4 sessions with a probability of 1.8 % only, so 4 are clear
FEWEST_SESSIONS = 20  # in each half


class ModelScore(msgspec.Struct, frozen=True):
    """How well a click model predicts held-out sessions. Standard errors are those of a bootstrap over sessions."""

    model: str
    log_likelihood: float  #: the mean of a session; -inf if it is clear that a session is impossible
    error: float
    behind: float  #: by how much the best model's log-likelihood of a session is larger
    behind_error: float
    impossible: float  #: the sessions that have the probability 0
    worse: bool  #: whether the model is clearly behind the best one
    perplexity: list[float]  #: of the clicks at each position, from 1 to 2 for a model that is better than a coin
    perplexity_error: list[float]


@dataclass(frozen=True, eq=False)
class ClickModelComparison:
    """The click models of a query, the best first, and the fit of the one that was chosen.

    `tied` has the models between which the log cannot decide, the chosen one first. A model that has the chosen one as
    a special case is not among them: it explains no more.
    """

    sessions: float
    several_clicks: float  #: the share of sessions with two clicks or more
    scores: list[ModelScore]
    chosen: str
    tied: list[str]
    lead: float  #: by how many standard errors the next model is behind that does not have it as a special case
    fit: SessionFit
    parameters: list[Parameters]
    verdict: str

    @property
    def sure(self) -> bool:
        """Whether the log can tell the chosen model from the others."""
        return len(self.tied) == 1


class _Held(NamedTuple):
    """What a model predicts about the sessions of the other half."""

    log_likelihood: Floats  # rows
    chances: Floats  # rows x positions
    fitted: Floats  # rows: the log-likelihood in the half that the model was fitted to


def compare_click_models(sessions: QuerySessions, clicks: str = AUTO, level: float = 0.9) -> ClickModelComparison:
    """Fit one click model, or all of them and choose.

    A model is chosen if no other is clearly better. Two models are compared by the mean difference of their
    log-likelihoods of held-out sessions; 2 standard errors are clear. Of models that are special cases of each other,
    the most special one is chosen. If there is more than one left, the log cannot tell them apart, and the one with the
    largest likelihood is chosen.
    """
    models = check_clicks(clicks)
    halves = [sessions.fold != fold for fold in range(FOLDS)]
    enough = min(float(sessions.number[half].sum()) for half in halves) >= FEWEST_SESSIONS
    scores = _scores(sessions, {model: _held_out(model, sessions) for model in models}) if enough else []
    tied = (_undecided(scores) or [scores[0].model]) if scores else sorted(models)
    ranked = [score.model for score in scores] or ["pbm", *models]
    chosen = next(model for model in ranked if model in tied)
    fit = _module(chosen).fit(sessions)
    several = float(
        sessions.number[(sessions.shown & sessions.clicks).sum(axis=1) > 1].sum() / max(sessions.total, 1.0)
    )
    lead = _lead(chosen, scores)
    alone = not any(generalises(model, chosen) for model in models)
    order = [chosen, *(model for model in tied if model != chosen)]
    words = verdict(scores, order, alone, lead, several)
    return ClickModelComparison(sessions.total, several, scores, chosen, order, lead, fit, fit.parameters(level), words)


def check_clicks(clicks: str) -> list[str]:
    """The models that `clicks` names."""
    known = fitted_models()
    return compared_models() if one_of("click model", clicks, [AUTO, *known]) == AUTO else [clicks]


def generalises(model: str, special: str) -> bool:
    """Whether `special` is a special case of `model`."""
    return special in _module(model).SPECIAL_CASES


def _module(model: str) -> Any:
    return importlib.import_module(f"slotwise.inference.click_models.{model}")


def _held_out(model: str, sessions: QuerySessions) -> _Held:
    """Fit the model to each half, and predict the other half."""
    n_rows = sessions.number.size
    held = _Held(np.empty(n_rows), np.empty(sessions.displays.shape), np.empty(n_rows))
    for fold in range(FOLDS):
        tested = sessions.fold == fold
        fit: SessionFit = _module(model).fit(sessions.rows(~tested), PRIOR)
        held.fitted[~tested] = fit.log_likelihood(sessions.rows(~tested))
        held.log_likelihood[tested] = fit.log_likelihood(sessions.rows(tested))
        held.chances[tested] = fit.click_probabilities(sessions.rows(tested))
    return held


def _scores(sessions: QuerySessions, held: dict[str, _Held]) -> list[ModelScore]:
    """The scores of the models, the best first.

    A model with more parameters predicts worse, because they have errors, even if it is right. It fits its own half
    better, by as much. So the mean of both distances is the distance without errors of parameters.
    """
    number = sessions.number
    possible = {model: np.isfinite(each.log_likelihood) for model, each in held.items()}
    impossible = {model: float(number[~rows].sum()) for model, rows in possible.items()}
    means = {
        model: _mean(each.log_likelihood[possible[model]], number[possible[model]]) for model, each in held.items()
    }
    candidates = [model for model in held if impossible[model] <= MOST_IMPOSSIBLE] or list(held)
    best = max(candidates, key=lambda model: means[model][0])
    scores = []
    for model, each in held.items():
        both = possible[model] & possible[best]
        behind, behind_error = _mean(held[best].log_likelihood[both] - each.log_likelihood[both], number[both])
        away = min(behind, (behind + _mean(held[best].fitted[both] - each.fitted[both], number[both])[0]) / 2.0)
        mean, error = means[model]
        if impossible[model] > MOST_IMPOSSIBLE:
            mean, error, behind, behind_error = -np.inf, np.nan, 0.0 if model == best else np.inf, np.nan
        clearly_behind = away > CLEAR * behind_error and away * sessions.total > CLEAR_TOTAL
        worse = clearly_behind or impossible[model] > MOST_IMPOSSIBLE
        scores.append(
            ModelScore(
                model, mean, error, behind, behind_error, impossible[model], bool(worse), *_perplexity(sessions, each)
            )
        )
    return sorted(scores, key=lambda score: (score.behind, score.model != best))


def _mean(values: Floats, number: Floats) -> tuple[float, float]:
    """The mean of a session and its standard error. A bootstrap over sessions has this standard error in the limit."""
    total = float(number.sum())
    if total < 2.0:
        return np.nan, np.nan
    mean = float(number @ values / total)
    return mean, float(np.sqrt(number @ (values - mean) ** 2) / total)


def _perplexity(sessions: QuerySessions, held: _Held) -> tuple[list[float], list[float]]:
    """2 to the power of the mean surprise (in bits) at each position, and its standard error by the delta method."""
    found, errors = [], []
    for position in range(len(sessions.positions)):
        shown = sessions.shown[:, position]
        chance = held.chances[shown, position]
        with np.errstate(divide="ignore"):
            bits = -np.log2(np.where(sessions.clicks[shown, position], chance, 1.0 - chance))
        mean, error = _mean(bits, sessions.number[shown])
        found.append(float(2.0**mean))
        errors.append(float(2.0**mean * np.log(2.0) * error))
    return found, errors


def _undecided(scores: Sequence[ModelScore]) -> list[str]:
    """The models that are not worse, without those that have another one of them as a special case."""
    good = [score.model for score in scores if not score.worse]
    return sorted(model for model in good if not any(generalises(model, other) for other in good))


def _lead(chosen: str, scores: Iterable[ModelScore]) -> float:
    """By how many standard errors the next model is behind. Models that have the chosen one as a special case do not
    count."""
    distances = [
        np.inf if score.behind == np.inf else score.behind / max(score.behind_error, 1e-300)
        for score in scores
        if score.model != chosen and not generalises(score.model, chosen)
    ]
    return float(min(distances, default=np.inf))
