"""Sessions of simulated visitors, drawn in plain NumPy from the definitions of the click models."""

from collections.abc import Callable

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.logs.sessions import QuerySessions, make_sessions

Draw = Callable[[np.random.Generator, Ints], np.ndarray]

ITEMS, POSITIONS = 8, 4
ATTRACTION = np.linspace(0.1, 0.6, ITEMS)
SATISFACTION = np.linspace(0.9, 0.2, ITEMS)
TERMINATION = np.array([0.2, 0.5, 0.7, 0.9])
KAPPA = np.array([1.0, 0.7, 0.5, 0.3])
PAIRS = np.array([[1.0, 0, 0, 0], [0.6, 0.9, 0, 0], [0.4, 0.5, 0.9, 0], [0.3, 0.2, 0.5, 0.9]])  # position x last click
CONTINUATION = 0.8
FEW = 0.003  # times the attractions: sessions with two clicks then hardly occur


def pbm(theta: Floats = ATTRACTION, kappa: Floats = KAPPA) -> Draw:
    return lambda rng, displays: rng.random(displays.shape) < theta[displays] * kappa


def ubm(theta: Floats = ATTRACTION, pairs: Floats = PAIRS) -> Draw:
    def draw(rng: np.random.Generator, displays: Ints) -> np.ndarray:
        clicks, last = np.zeros(displays.shape, bool), np.zeros(len(displays), int)
        for k in range(displays.shape[1]):
            clicks[:, k] = rng.random(len(displays)) < theta[displays[:, k]] * pairs[k, last]
            last = np.where(clicks[:, k], k + 1, last)
        return clicks

    return draw


def chain(
    attraction: Floats = ATTRACTION,
    satisfaction: Floats | None = None,
    termination: Floats | None = None,
    continuation: float = 1.0,
) -> Draw:
    """Visitors look at one position after the other. Without satisfaction and termination, every click ends a visit."""

    def draw(rng: np.random.Generator, displays: Ints) -> np.ndarray:
        looks, clicks = np.ones(len(displays), bool), np.zeros(displays.shape, bool)
        for k in range(displays.shape[1]):
            clicks[:, k] = looks & (rng.random(len(displays)) < attraction[displays[:, k]])
            leaves = satisfaction[displays[:, k]] if satisfaction is not None else 1.0
            leaves = termination[k] if termination is not None else leaves
            looks &= ~(clicks[:, k] & (rng.random(len(displays)) < leaves))
            looks &= rng.random(len(displays)) < continuation
        return clicks

    return draw


VISITORS: dict[str, Draw] = {
    "pbm": pbm(),
    "cascade": chain(),
    "dcm": chain(termination=TERMINATION),
    "sdbn": chain(satisfaction=SATISFACTION),
    "dbn": chain(satisfaction=SATISFACTION, continuation=CONTINUATION),
    "ubm": ubm(),
}


def simulated(draw: Draw, number: int, seed: int, n_items: int = ITEMS, different: int = 60) -> QuerySessions:
    """QuerySessions on `different` random displays of the first `n_items` items."""
    rng = np.random.default_rng(seed)
    pool = rng.random((different, n_items)).argsort(axis=1)[:, :POSITIONS]
    displays = pool[rng.integers(different, size=number)]
    names = [f"item{k}" for k in range(ITEMS)]
    clicks = draw(rng, displays)
    return make_sessions("q", names, list("1234"), displays, clicks, rng.integers(2, size=number))
