"""How a policy makes the draws of a page: M draws of (theta, kappa) given the counts, made beside the requests.

A display then takes one of the draws at random and arranges the items by it. A policy declares its source as
`ENSEMBLE`. Without this name, the draws are calls of its `score`.
"""

import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np

from slotwise.arrange import ItemRules
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.draw_budget import CELLS_SWEPT, DRAWS, number_of_draws, steps
from slotwise.inference.sampling.ensemble import BURN_IN, LONG_BURN_IN
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws, record_draws
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.inference.sampling.ridges import single_component
from slotwise.inference.sampling.template_draws import TemplateDraws, draw_page
from slotwise.jit import kernel

GROWTH = 0.03  # draws are made again when displays or clicks have changed by this share
_LEAST_BURN_IN = 20  # sweeps of a chain that starts anywhere, on a very large page
_SCORE_WARM_UP = 20  # calls of `score` before the first draw, because estimators converge over several calls


class PlannedDisplays(NamedTuple):
    """Displays that are shown instead of the best one under the picked draw, and the probability of each."""

    displays: Ints  # k x L
    chances: Floats  # k: they sum to 1
    draw_chances: Floats  # M: how often the best display under each draw is shown, and not a planned one


class EnsembleSource(Protocol):
    """Makes the draws of one policy."""

    def draw(
        self, params: Any, counts: CountArrays, memory: Any, far: bool, rng: np.random.Generator
    ) -> tuple[EnsembleDraws, Any]:
        """Make draws. Returns them and a memory, which the next call gets. At first, the memory is None.

        With `far`, the counts have changed so much that the memory may be far from the bulk of the posterior.
        """

    def select(self, memory: Any, rows: Ints, columns: Ints) -> Any:
        """The memory for counts with these rows and columns of the counts before. New ones have the number -1."""

    @property
    def shares_prior(self) -> bool:
        """Whether items without counts need no rows, because their thetas are draws from the `beta` of each draw."""

    @property
    def takes_shared_draws(self) -> bool:
        """Whether a page can use draws that the pages of a template share."""

    def draw_given(
        self, params: Any, counts: CountArrays, shared: TemplateDraws, rng: np.random.Generator
    ) -> EnsembleDraws:
        """Make draws given what the pages of a template share. It is called only if `takes_shared_draws`."""

    @property
    def planner(self) -> "Planner | None":
        """A function that plans displays, if the policy does so. It returns None if too few items fit into a display.

        Its arguments are the settings, the draws of theta and kappa for the items and positions of one display, and the
        rules for these items.
        """


Planner = Callable[[Any, Floats, Floats, ItemRules], PlannedDisplays | None]


def ensemble_source(policy: ModuleType) -> EnsembleSource:
    """The source of a policy."""
    source: EnsembleSource = getattr(policy, "ENSEMBLE", None) or ScoreEnsemble(policy.__name__)
    return source


def growth_of(params: Any) -> float:
    """The share by which displays or clicks change before draws are made again: a setting, or the default."""
    return float(getattr(params, "growth", GROWTH))


class PosteriorEnsemble:
    """Draws from the posterior by the sampler that mixes, whatever sampler the policy has in a simulation.

    Successive states of a random walk are nearly equal, so they would make a poor ensemble. `learnt` gives the prior
    for the policy's settings, and `free_from` the first position whose kappa is not fixed at 1.

    On a page of a template, the kappas are those of the template. So is the prior, unless it is uniform by the policy's
    settings.
    """

    takes_shared_draws = True

    def __init__(
        self,
        learnt: Callable[[Any], int] = lambda _: Learnt.NOTHING.value,
        free_from: Callable[[Any], int] = lambda _: 0,
        planner: Planner | None = None,
    ) -> None:
        self._learnt, self._free_from, self.planner = learnt, free_from, planner
        self.shares_prior = planner is None  # a plan compares the draws of all items

    def draw(
        self, params: Any, counts: CountArrays, memory: ChainState | None, far: bool, rng: np.random.Generator
    ) -> tuple[EnsembleDraws, ChainState]:
        """Continue the chain in `memory`. Items and positions that are new in the counts start at random values."""
        n_items, n_positions = counts.clicks.shape
        chain, ridges = _chain(memory, n_items, n_positions, rng), single_component(n_items, n_positions)
        free_from, learnt, sweeps = self._free_from(params), self._learnt(params), getattr(params, "sweeps", 1)
        chain.kappa[:free_from] = 1.0
        cells = n_items * n_positions
        settling, slice_every = BURN_IN, SLICE_EVERY
        if far or memory is None:
            settling, slice_every = max(_LEAST_BURN_IN, min(LONG_BURN_IN, CELLS_SWEPT // cells)), 1
        for step in steps(settling, cells):
            sample(counts, ridges, chain, Schedule(step, 1, slice_every, free_from, learnt), rng)
        draws = EnsembleDraws.empty(number_of_draws(getattr(params, "draws", DRAWS), cells), n_items, n_positions)
        done = 0
        for step in steps(len(draws.theta), cells * sweeps):
            schedule = Schedule(sweeps, 1, SLICE_EVERY, free_from, learnt)
            record_draws(counts, ridges, chain, schedule, draws.rows(done, done + step), rng)
            done += step
        return draws, chain

    def select(self, memory: ChainState | None, rows: Ints, columns: Ints) -> ChainState | None:
        """The chain with these items and positions. It is NaN where they are new."""
        if memory is None:
            return None
        theta, kappa = (
            np.where(rows < 0, np.nan, memory.theta[rows]),
            np.where(columns < 0, np.nan, memory.kappa[columns]),
        )
        return ChainState(theta, kappa, memory.beta.copy())

    def draw_given(
        self, params: Any, counts: CountArrays, shared: TemplateDraws, rng: np.random.Generator
    ) -> EnsembleDraws:
        """Draw the thetas exactly, given each draw of the template."""
        if self._learnt(params) == Learnt.NOTHING:
            shared = shared._replace(beta=np.ones_like(shared.beta))
        return draw_page(counts, shared, getattr(params, "draws", DRAWS), rng)


class ScoreEnsemble:
    """Draws that are calls of the policy's `score`. One is enough if the score depends on the counts alone.

    A score takes no kappas from outside, so a page of a template makes its own draws.
    """

    takes_shared_draws = False

    def __init__(self, policy_name: str, draws: int = DRAWS) -> None:
        self._policy_name, self._draws = policy_name, draws
        self.planner: Planner | None = None
        self.shares_prior = False  # the policy alone knows the score of an item without counts

    def select(self, memory: Any, rows: Ints, columns: Ints) -> Any:
        """Nothing: the policy estimates again."""

    def draw(
        self, params: Any, counts: CountArrays, memory: Any, far: bool, rng: np.random.Generator
    ) -> tuple[EnsembleDraws, Any]:
        """Call `score` for each draw. The memory is the policy's state, whose estimate is a warm start."""
        policy = sys.modules[self._policy_name]
        fill = _build_fill(policy, policy.score)
        n_items, n_positions = counts.clicks.shape
        draws = EnsembleDraws.empty(number_of_draws(self._draws, n_items * n_positions), n_items, n_positions)
        theta, kappa = np.empty(n_items), np.empty(n_positions)
        same_size = memory is not None and memory.counts.clicks.shape == counts.clicks.shape
        state = (memory if same_size else policy.init(params, n_items, n_positions, rng))._replace(counts=counts)
        for _ in range(_SCORE_WARM_UP if far or not same_size else 0):
            fill(params, state, rng, theta, kappa, draws.rows(0, 1))
        fill(params, state, rng, theta, kappa, draws)
        return draws, state

    def draw_given(
        self, params: Any, counts: CountArrays, shared: TemplateDraws, rng: np.random.Generator
    ) -> EnsembleDraws:
        """Never called."""
        raise NotImplementedError


@cache
def _build_fill(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    """Build a kernel that fills draws by calls of `score`."""

    @kernel(depends=(policy,))
    def fill(params, state, rng, theta, kappa, draws):  # type: ignore[no-untyped-def]
        thetas, kappas = draws.theta, draws.kappa
        for draw in range(thetas.shape[0]):
            policy.score(params, state, rng, theta, kappa)
            for item in range(theta.size):
                thetas[draw, item] = theta[item]
            for position in range(kappa.size):
                kappas[draw, position] = kappa[position]

    return fill


def _chain(memory: ChainState | None, n_items: int, n_positions: int, rng: np.random.Generator) -> ChainState:
    theta, kappa, beta = rng.random(n_items), rng.random(n_positions), np.ones(2)
    if memory is not None:
        theta = rng.beta(memory.beta[0], memory.beta[1], n_items)
        for values, known in ((theta, memory.theta), (kappa, memory.kappa)):
            values[: known.size] = np.where(np.isnan(known), values[: known.size], known)
        beta = memory.beta.copy()
    return ChainState(theta, kappa, beta)
