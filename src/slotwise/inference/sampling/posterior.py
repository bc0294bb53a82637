"""The posterior of theta and kappa given counts, as it is shown to people: draws, intervals, and their worth."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, arrange_among
from slotwise.checks import BadInput, Floats, Ints, known, number, shown, whole
from slotwise.counts import Counts
from slotwise.inference.components import components, normalise
from slotwise.inference.estimation.fit import Intervals, check_level
from slotwise.inference.sampling.beta_prior import Learnt
from slotwise.inference.sampling.chain import Chain, Target
from slotwise.inference.sampling.ess import ess, r_hat, tail_ess
from slotwise.inference.sampling.observed_chain import ShownChain
from slotwise.inference.sampling.posterior_summary import Row, Summary
from slotwise.jit import kernel

CHAINS = 4
BURN_IN = 500  # sweeps of each chain; from a start drawn from the prior the slowest design measured took 450
MOST_SWEEPS = 100  # the budget, for each draw
MOST_NUMBERS = 200_000_000  # in all draws
_AT_A_TIME = 500  # variables whose worth is worked out together: it takes ten times the memory of their draws
REFERENCES = {"none": 0, "first": 1}
PRIORS = {"uniform": Learnt.NOTHING, "learnt": Learnt.BOTH, "falling": Learnt.FALLING}


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior draws: theta is draws x N, kappa is draws x L, the chains one after another.

    Every draw is scaled to a largest kappa of 1 in each connected part of the design (with `reference="first"` the part
    of the first position has kappa_1 = 1 instead).
    """

    theta: Floats
    kappa: Floats
    displays: Ints  # draws x L: the best display under each draw; -1 where there are fewer items than positions
    beta: Floats  # draws x 2: a and b of the prior of theta
    by_chain: Floats  # chains x draws of each x variables: every theta, then every kappa
    sweeps: int  # of the sampler, over all chains, what was thrown away included
    budget: int
    asked: float  # the effective sample size that was asked for
    items: list[str]
    positions: list[str]
    among: tuple[Ints, ...] = ()  # for each of `Named.groups`: draws x its positions, as `displays` has them

    @cached_property
    def effective(self) -> Floats:
        """The effective sample size of each theta, then each kappa; NaN for one that is 1 by convention."""
        parts = np.array_split(self.by_chain, -(-self.by_chain.shape[2] // _AT_A_TIME), axis=2)
        return np.concatenate([np.fmin(ess(part), tail_ess(part)) for part in parts])

    @cached_property
    def r_hat(self) -> Floats:
        """Agreement of the chains on each theta, then each kappa: below 1.01 they agree."""
        return r_hat(self.by_chain)

    @property
    def ess(self) -> float:
        """How many independent draws these are worth, at the worst theta or kappa: the smaller of bulk and tail."""
        told = self.effective[np.isfinite(self.effective)]
        return float(told.min()) if told.size else 0.0

    @property
    def reached(self) -> bool:
        """Whether the effective sample size asked for was reached before the budget was spent."""
        return self.ess >= self.asked

    @property
    def note(self) -> str:
        """In words: what was reached, and for how many sweeps."""
        told = f"worth {self.ess:,.0f} independent ones" if self.ess > 0.0 else "too few to tell what they are worth"
        worth = f"{len(self.theta):,} draw{'s'[: len(self.theta) > 1]}, {told}"
        spent = f"{self.sweeps:,} sweeps in {len(self.by_chain)} chains"
        if self.reached:
            return f"{worth}: the {self.asked:,.6g} asked for were reached with {spent}"
        return f"{worth}, not the {self.asked:,.6g} asked for: {spent} are all that a budget of {self.budget:,} allows"

    @property
    def names(self) -> list[str]:
        """Of each theta, then each kappa."""
        return [f"theta[{name}]" for name in self.items] + [f"kappa[{name}]" for name in self.positions]

    def intervals(self, level: float = 0.9) -> Intervals:
        """Central intervals that hold each theta and kappa with probability `level`."""
        ends = [(1.0 - check_level(level)) / 2.0, (1.0 + level) / 2.0]
        return Intervals(np.quantile(self.theta, ends, axis=0).T, np.quantile(self.kappa, ends, axis=0).T)

    def summary(self, level: float = 0.9) -> Summary:
        """A row for each theta and kappa: mean, standard deviation, interval, effective sample size, R-hat."""
        ends = np.concatenate(self.intervals(level))
        both = np.concatenate([self.theta, self.kappa], axis=1)
        columns = zip(self.names, both.mean(axis=0), both.std(axis=0), *ends.T, self.effective, self.r_hat, strict=True)
        rows = [Row(label, *(float(value) for value in values)) for label, *values in columns]
        return Summary(rows, level, self.note)

    @property
    def at_position(self) -> Floats:
        """N x L: the probability that the best display has this item at this position."""
        items = np.arange(self.theta.shape[1])
        return np.asarray((self.displays[:, None, :] == items[None, :, None]).mean(axis=0))

    def best(self, display: Mapping[str, str] | Sequence[int]) -> float:
        """The probability that this display is the best one: a mapping of positions to items, or items by index."""
        wanted = self._by_index(display)
        return float((self.displays == wanted).all(axis=1).mean())

    def _by_index(self, display: Any) -> Ints:
        n_items, n_positions = self.theta.shape[1], self.kappa.shape[1]
        wanted = np.full(n_positions, EMPTY)
        if isinstance(display, Mapping):
            for position, item in display.items():
                where = self.positions.index(known("position", position, self.positions))
                wanted[where] = self.items.index(known("item", item, self.items))
        elif isinstance(display, str) or not isinstance(display, Sequence | np.ndarray) or len(display) != n_positions:
            raise BadInput(f"display = {shown(display)} is not a mapping, or a list of {n_positions} items by index")
        else:
            wanted[:] = [whole("display", item, least=EMPTY) for item in display]
        items = wanted[wanted != EMPTY]
        if items.max(initial=0) >= n_items or len(set(items.tolist())) < items.size:
            raise BadInput(f"display = {shown(display)} is not made of different items from 0 to {n_items - 1}")
        filled = int((self.displays[0] != EMPTY).sum())
        if items.size != filled:
            raise BadInput(
                f"display = {shown(display)} fills {items.size} positions, and a best display fills {filled}; "
                "at_position has the probabilities of single positions"
            )
        return wanted


class Named(NamedTuple):
    """What a page knows of the rows and columns of its counts."""

    items: list[str]
    positions: list[str]
    allowed: NDArray[np.bool_]  # of the items: whether they may be in the best display
    groups: tuple[tuple[NDArray[np.bool_], Ints], ...] = ()  # displays of these items at these positions, too


def posterior(
    counts: Counts,
    draws: int = 4000,
    prior: str | tuple[float, float] = "uniform",
    reference: str = "none",
    ess: float | None = None,
    budget: int | None = None,
    seed: int = 0,
    named: Named | None = None,
    threads: int | None = None,
    burn_in: int = BURN_IN,
) -> Posterior:
    """Draws of theta and kappa given counts, until they are worth `ess` independent ones or the budget is spent.

    A priori every kappa is uniform on [0, 1], and every theta too, or Beta(a, b) with `prior=(a, b)`, a, b >= 1, or
    with `prior="learnt"` Beta with a and b learnt from all items together, with `"falling"` a = 1 and b learnt. With
    `reference="first"` kappa_1 = 1. By default `ess` is half of the draws and `budget`, in sweeps over all chains, a
    hundred times the draws; the burn-in, `burn_in` sweeps of each of four chains, and one draw per sweep are taken
    whatever the budget. The chains go over `threads` (None: all cores), which changes no draw.

    >>> found = posterior(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]), draws=1000)
    >>> found.reached, found.best([0, 1]) > 0.9
    (True, True)
    """
    target = target_of(counts, prior, reference)
    wanted = whole("draws", draws, least=1)
    asked = wanted / 2.0 if ess is None else number("ess", ess)
    most = MOST_SWEEPS * wanted if budget is None else whole("budget", budget, least=1)
    if not 0.0 <= asked <= wanted:
        raise BadInput(f"ess = {asked:g} is not between 0 and the number of draws, {wanted}")
    check_room(wanted, target)
    seeds = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(CHAINS)
    chains = [ShownChain(target, np.random.default_rng(each)) for each in seeds]
    cores = os.cpu_count() if threads is None else whole("threads", threads, least=1)
    first = whole("burn_in", burn_in, least=0)
    return _until(target, chains, first, wanted, asked, most, named or unnamed(target), cores)


def _until(
    target: Target,
    chains: list[ShownChain],
    burn_in: int,
    wanted: int,
    asked: float,
    most: int,
    named: Named,
    cores: int | None,
) -> Posterior:
    """Record at up to twice the spacing, and throw away what came before, until the draws are worth enough."""
    each, thin = -(-wanted // len(chains)), 1
    with ThreadPoolExecutor(cores, thread_name_prefix="slotwise") as pool:
        try:
            list(pool.map(lambda chain: chain.burn_in(burn_in), chains))
            while True:
                list(pool.map(lambda chain, spacing=thin: chain.record(each, spacing), chains))
                spent = sum(chain.sweeps for chain in chains)
                found = gathered(target, chains, wanted, spent, most, asked, named)
                further = min(2 * thin, (most - spent) // (each * len(chains)))
                if found.reached or further <= thin:
                    return found
                thin = further
        except BaseException:
            for chain in chains:
                chain.stop()
            raise


def gathered(
    target: Target,
    chains: Sequence[Chain | ShownChain],
    wanted: int,
    spent: int,
    most: int,
    asked: float,
    named: Named,
) -> Posterior:
    """What the chains recorded, scaled draw by draw."""
    theta, kappa, beta = (
        np.concatenate([getattr(chain, name) for chain in chains]) for name in ("theta", "kappa", "beta")
    )
    # before they are scaled: across parts that changes the order
    displays = _arranged(theta, kappa, named.allowed)
    among = tuple(_arranged(theta, kappa[:, positions], allowed)[:wanted] for allowed, positions in named.groups)
    normalise(theta, kappa, *components(target.tally), target.free_from)
    by_chain = np.concatenate([theta, kappa], axis=1).reshape(len(chains), -1, theta.shape[1] + kappa.shape[1])
    rows = (theta[:wanted], kappa[:wanted], displays[:wanted], beta[:wanted])
    return Posterior(*rows, by_chain, spent, most, asked, named.items, named.positions, among)


def _arranged(theta: Floats, kappa: Floats, allowed: NDArray[np.bool_]) -> Ints:
    displays = np.empty(kappa.shape, np.int64)
    _arrange_all(theta, np.ascontiguousarray(kappa), allowed, displays)
    return displays


@kernel
def _arrange_all(theta: Floats, kappa: Floats, allowed: NDArray[np.bool_], displays: Ints) -> None:
    free = np.full(kappa.shape[1], EMPTY)
    for draw in range(theta.shape[0]):
        arrange_among(theta[draw], kappa[draw], allowed, free, displays[draw])


def check_room(draws: int, target: Target) -> None:
    """Refuse what would not fit into memory."""
    size = draws * sum(target.shape)
    if size > MOST_NUMBERS:
        raise BadInput(
            f"draws = {draws:,} of {sum(target.shape):,} variables are too many; {MOST_NUMBERS:,} numbers fit"
        )


def target_of(counts: Counts, prior: Any, reference: str) -> Target:
    """The posterior that was asked for, checked."""
    if not isinstance(counts, Counts):
        raise BadInput(f"counts = {shown(counts)} is {type(counts).__name__}; Counts(clicks, skips) are needed")
    beta, learnt = (1.0, 1.0), Learnt.NOTHING
    if isinstance(prior, str):
        learnt = PRIORS[known("prior", prior, PRIORS)]
    elif isinstance(prior, list | tuple) and len(prior) == 2:
        beta = number("prior's a", prior[0]), number("prior's b", prior[1])
        if not all(1.0 <= value < np.inf for value in beta):  # NaN is not either
            raise BadInput(f"prior = {shown(prior)} is not a Beta law with a, b of at least 1")
    else:
        raise BadInput(f"prior = {shown(prior)} is not 'uniform', 'learnt', 'falling', or a pair of numbers (a, b)")
    return Target(counts.arrays(), beta, learnt, REFERENCES[known("reference", reference, REFERENCES)])


def unnamed(target: Target) -> Named:
    """Numbers for names; every item may be shown."""
    n_items, n_positions = target.shape
    return Named([str(k) for k in range(n_items)], [str(k) for k in range(n_positions)], np.ones(n_items, np.bool_))
