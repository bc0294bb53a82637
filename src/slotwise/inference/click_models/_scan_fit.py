"""ScanFit: maximum likelihood estimates of a scan model, with standard errors from the observed information."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.inference.click_models._parameters import Parameters, log_odds_parameters
from slotwise.inference.click_models._scan import ScanModel, click_chances, scan_likelihood
from slotwise.logs.sessions import QuerySessions

MOST_ERRORS = 500  # with more parameters, there are no standard errors
_MOST_LOG_ODDS = 16.0  # estimates beyond are 0 or 1
_LEAST_GAIN = 1e-5  # of the log-likelihood in one step of a large fit: far below the 0.5 of one standard error
_STEP = 1e-4  # of the log-odds, for the second derivatives
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ScanFit:
    """The estimates, their errors, and the names of what they belong to."""

    scan: ScanModel
    error: Floats  # of the attractions, of the probabilities to leave, and of going on
    items: list[str]
    positions: list[str]
    leave_kind: str | None  # what the probability to leave is called; None: all visitors leave after a click
    has_going_on: bool

    def log_likelihood(self, sessions: QuerySessions) -> Floats:
        return _evaluate(self.scan, sessions)[0]

    def click_probabilities(self, sessions: QuerySessions) -> Floats:
        return click_chances(self.scan, sessions.displays)

    def parameters(self, level: float) -> list[Parameters]:
        """The attraction of each item; the probability to leave; and that of going on."""
        z, scan, n = NormalDist().inv_cdf((1.0 + level) / 2.0), self.scan, len(self.items)
        found = [log_odds_parameters("attraction", self.items, scan.attraction, self.error[:n], z)]
        if self.leave_kind is not None:
            names = self.items if scan.by_item else self.positions
            found.append(log_odds_parameters(self.leave_kind, names, scan.leave, self.error[n:-1], z))
        if self.has_going_on:
            value = np.array([scan.going_on])
            found.append(log_odds_parameters("continuation", ["every position"], value, self.error[-1:], z))
        return found


def fit_scan(sessions: QuerySessions, leave_kind: str, by_item: bool, going_on: bool, prior: float) -> ScanFit:
    """The maximum of the likelihood times Beta(prior + 1, prior + 1) densities.

    Leaving depends on the item or on the position. Unless `going_on`, visitors always go on.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped] # its import takes a tenth of a second

    counted = _Counted(sessions, by_item)
    scan, free = counted.start(going_on)
    rates, scale = _rates(scan), max(sessions.total, 1.0)

    def objective(log_odds: Floats) -> tuple[float, Floats]:
        candidate = rates.copy()
        bounded = np.clip(log_odds, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        candidate[free] = _probability(bounded)
        value, slope = _objective(_scan(candidate, scan), sessions, prior, free)
        return -value / scale, np.where(bounded == log_odds, -slope / scale, 0.0)

    few = free.sum() <= MOST_ERRORS  # with many parameters, most of the time would go into bounds
    bounds = [(-_MOST_LOG_ODDS, _MOST_LOG_ODDS)] * int(free.sum()) if few else None
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15 if few else _LEAST_GAIN / scale, "gtol": 1e-8}
    best = np.clip(_log_odds(rates[free]), -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
    if best.size:
        best = minimize(objective, best, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    inside = np.abs(best) < _MOST_LOG_ODDS - 1.0
    rates[free] = np.where(inside, _probability(best), best > 0.0)
    counted.impute(rates)
    error = np.full(rates.size, np.nan)
    error[:-1][~counted.determined] = np.inf
    if int(inside.sum()) <= MOST_ERRORS:
        error[np.flatnonzero(free)[inside]] = _errors(lambda x: scale * objective(x)[1], best, inside)
    return ScanFit(_scan(rates, scan), error, sessions.items, sessions.positions, leave_kind, going_on)


class _Counted:
    """Counts that decide which parameters the sessions determine, and from which the search starts."""

    def __init__(self, sessions: QuerySessions, by_item: bool) -> None:
        self.n_items, self.by_item = len(sessions.items), by_item
        shown, clicks, number = sessions.shown, sessions.shown & sessions.clicks, sessions.number[:, None]
        places = np.arange(shown.shape[1])
        last = np.where(clicks, places, -1).max(axis=1)[:, None]
        bottom = np.where(shown, places, -1).max(axis=1)[:, None]
        until_last = shown & ((places <= last) | (last < 0))
        self.seen = self._sum(sessions, shown * number, True)
        self.observed = self._sum(sessions, until_last * number, True)
        self.clicked = self._sum(sessions, clicks * number, True)
        informative = clicks & (places < bottom)  # nothing shows whether a visitor leaves after the last item
        self.chances = self._sum(sessions, informative * number, by_item)
        self.lasts = self._sum(sessions, (informative & (places == last)) * number, by_item)

    def _sum(self, sessions: QuerySessions, weight: Floats, by_item: bool) -> Floats:
        if not by_item:
            return np.asarray(weight.sum(axis=0), np.float64)
        shown = sessions.shown
        return np.asarray(np.bincount(sessions.displays[shown], weight[shown], self.n_items), np.float64)

    @property
    def determined(self) -> Bools:
        return np.concatenate([self.seen > 0.0, self.chances > 0.0])

    def start(self, going_on: bool) -> tuple[ScanModel, Bools]:
        """A first guess from counts up to the last click, and which parameters are free."""
        attraction = (self.clicked + 0.5) / (np.maximum(self.observed, self.clicked) + 1.0)
        leave = (self.lasts / 2.0 + 0.5) / (self.chances + 1.0)
        pairs_seen = bool((self.seen > 0.0).any())
        free = np.append(self.determined, going_on and pairs_seen)
        return ScanModel(attraction, leave, 0.9 if going_on else 1.0, self.by_item), free

    def impute(self, rates: Floats) -> None:
        """Give parameters that the sessions do not determine the mean of the others."""
        n = self.n_items
        for part, known in ((rates[:n], self.seen > 0.0), (rates[n:-1], self.chances > 0.0)):
            part[~known] = part[known].mean() if known.any() else 0.5


def fixed_scan(attraction: Floats, error: Floats, sessions: QuerySessions) -> ScanFit:
    """A scan model whose visitors always leave after a click."""
    n = len(sessions.positions)
    scan = ScanModel(attraction, np.ones(n), 1.0, False)
    errors = np.concatenate([error, np.full(n + 1, np.nan)])
    return ScanFit(scan, errors, sessions.items, sessions.positions, None, False)


def _evaluate(scan: ScanModel, sessions: QuerySessions) -> tuple[Floats, ScanModel]:
    """The log-likelihood of each row, and the gradient over all sessions."""
    rows = np.empty(len(sessions.number))
    by_attraction, by_leave = np.zeros(scan.attraction.size), np.zeros(scan.leave.size)
    gradient = ScanModel(by_attraction, by_leave, 0.0, scan.by_item)
    by_going_on = scan_likelihood(scan, sessions.displays, sessions.clicks, sessions.number, rows, gradient)
    return rows, gradient._replace(going_on=by_going_on)


def _objective(scan: ScanModel, sessions: QuerySessions, prior: float, free: Bools) -> tuple[float, Floats]:
    """The log-density and its derivatives by the log-odds of the free parameters."""
    rows, gradient = _evaluate(scan, sessions)
    rate = _rates(scan)[free]
    value = float(sessions.number @ rows) + prior * float(np.log(rate * (1.0 - rate)).sum())
    return value, _rates(gradient)[free] * rate * (1.0 - rate) + prior * (1.0 - 2.0 * rate)


def _errors(gradient: Callable[[Floats], Floats], best: Floats, inside: Bools) -> Floats:
    """Standard errors of the probabilities, from differences of the gradient by the log-odds."""
    chosen = np.flatnonzero(inside)
    information = np.empty((chosen.size, chosen.size))
    for row, k in enumerate(chosen):
        step = np.zeros(best.size)
        step[k] = _STEP
        information[row] = (gradient(best + step) - gradient(best - step))[chosen] / (2.0 * _STEP)
    information = (information + information.T) / 2.0
    values, vectors = np.linalg.eigh(information) if chosen.size else (np.empty(0), np.empty((0, 0)))
    known = values > 1e-9 * max(float(values.max(initial=0.0)), 1.0)  # the others are directions without information
    variance = (vectors[:, known] ** 2 / values[known]).sum(axis=1)
    variance[(vectors[:, ~known] ** 2).sum(axis=1) > 1e-6] = np.inf
    rate = _probability(best[chosen])
    return np.asarray(np.sqrt(variance) * rate * (1.0 - rate))


def _rates(scan: ScanModel) -> Floats:
    return np.concatenate([scan.attraction, scan.leave, [scan.going_on]])


def _scan(rates: Floats, like: ScanModel) -> ScanModel:
    n = like.attraction.size
    return ScanModel(rates[:n].copy(), rates[n:-1].copy(), float(rates[-1]), like.by_item)


def _probability(log_odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def _log_odds(rate: Floats) -> Floats:
    return np.asarray(np.log(rate / (1.0 - rate)))
