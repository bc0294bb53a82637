"""The posterior of theta and kappa given counts: draws, credible intervals and effective sample sizes."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_RULES, ItemRules, arrange_among
from slotwise.checks import BadInput, Floats, Ints, format_value, integer_at_least, number, one_of
from slotwise.counts import Counts
from slotwise.inference.components import components, components_warning, normalise, unlinked_positions
from slotwise.inference.estimation.fit import Intervals, check_level
from slotwise.inference.sampling.chain import Chain, Target
from slotwise.inference.sampling.chain_on_observed import ChainOnObserved
from slotwise.inference.sampling.effective_sample_size import ess, r_hat, tail_ess
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.posterior_summary import Row, Summary
from slotwise.jit import kernel
from slotwise.notebook import Estimates, format_numbers, html_estimates, plural

CHAINS = 4
BURN_IN = 500  # sweeps of each chain; from starts drawn from the prior, the slowest design measured needed 450
MOST_SWEEPS = 100  # the default budget in sweeps per draw
MOST_NUMBERS = 200_000_000  # the largest number of values in all draws together
_VARIABLES_AT_ONCE = 500  # for effective sample sizes, which take ten times the memory of the draws
REFERENCES = {"none": 0, "first": 1}
PRIORS = {"uniform": Learnt.NOTHING, "learnt": Learnt.BOTH, "falling": Learnt.FALLING}


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior draws: theta is draws x N, and kappa is draws x L. The draws of all chains are concatenated.

    Every draw is scaled so that the largest kappa is 1 in each component of the item-position graph. With
    `reference="first"`, the component of the first position has kappa_1 = 1 instead.

    >>> result = posterior(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]), draws=1000)
    >>> result.theta.shape, result.kappa.shape
    ((1000, 2), (1000, 2))
    >>> result.intervals(level=0.9).kappa.shape
    (2, 2)
    >>> bool(result.at_position[0, 0] > 0.9)  # the first item almost surely belongs at the first position
    True
    """

    theta: Floats
    kappa: Floats
    displays: Ints  #: draws x L: the best display under each draw; -1 at empty positions, if there are too few items
    beta: Floats  #: draws x 2: a and b of the prior of theta
    by_chain: Floats  #: chains x draws per chain x variables: every theta, then every kappa
    sweeps: int  #: the sweeps of all chains, including discarded ones
    budget: int  #: the limit of sweeps
    target_ess: float  #: the requested effective sample size
    items: list[str]
    positions: list[str]
    n_components: int  # of the item-position graph; only within a component can thetas and kappas be compared
    unlinked: NDArray[np.bool_]  # L: kappa is 1 only because no count links the position to another one
    group_displays: tuple[Ints, ...] = ()  # for each of `Labels.groups`: draws x its positions, like `displays`

    @cached_property
    def effective_sample_sizes(self) -> Floats:
        """The smaller one of the bulk and tail effective sample sizes of each theta, then of each kappa.

        It is NaN for a theta or kappa that is 1 by convention.
        """
        blocks = np.array_split(self.by_chain, -(-self.by_chain.shape[2] // _VARIABLES_AT_ONCE), axis=2)
        return np.concatenate([np.fmin(ess(block), tail_ess(block)) for block in blocks])

    @cached_property
    def r_hat(self) -> Floats:
        """R-hat of each theta, then each kappa. Below 1.01 the chains agree."""
        return r_hat(self.by_chain)

    @property
    def ess(self) -> float:
        """The smallest effective sample size of all thetas and kappas, or 0 if it cannot be computed."""
        sizes = self.effective_sample_sizes[np.isfinite(self.effective_sample_sizes)]
        return float(sizes.min()) if sizes.size else 0.0

    @property
    def reached(self) -> bool:
        """Whether the requested effective sample size was reached within the budget."""
        return self.ess >= self.target_ess

    @property
    def note(self) -> str:
        """One sentence about the effective sample size and the number of sweeps."""
        draws = f"{len(self.theta):,} draw{'s'[: len(self.theta) > 1]}"
        size = f"effective sample size {self.ess:,.0f}" if self.ess > 0.0 else "too few for an effective sample size"
        sweeps = f"{self.sweeps:,} sweeps in {len(self.by_chain)} chains"
        if self.reached:
            return f"{draws}, {size}: the target of {self.target_ess:,.6g} was reached after {sweeps}"
        limit = f"the limit is a budget of {self.budget:,}"
        return f"{draws}, {size}: the target of {self.target_ess:,.6g} was not reached after {sweeps}; {limit}"

    @property
    def names(self) -> list[str]:
        """The names of the thetas, then of the kappas."""
        return [f"theta[{name}]" for name in self.items] + [f"kappa[{name}]" for name in self.positions]

    def intervals(self, level: float = 0.9) -> Intervals:
        """Central credible intervals. Each contains its theta or kappa with probability `level`.

        The intervals of `unlinked` positions are NaN, because their draws are 1 whatever their visibility is.
        """
        ends = [(1.0 - check_level(level)) / 2.0, (1.0 + level) / 2.0]
        kappa = np.where(self.unlinked, np.nan, np.quantile(self.kappa, ends, axis=0))
        return Intervals(np.quantile(self.theta, ends, axis=0).T, kappa.T)

    def summary(self, level: float = 0.9) -> Summary:
        """A table: mean, standard deviation, interval, effective sample size and R-hat of each theta and kappa."""
        ends = np.concatenate(self.intervals(level))
        both = np.concatenate([self.theta, self.kappa], axis=1)
        spread = np.where(np.isnan(ends[:, 0]), np.nan, both.std(axis=0))
        moments, quality = (both.mean(axis=0), spread), (self.effective_sample_sizes, self.r_hat)
        columns = zip(self.names, *moments, *ends.T, *quality, strict=True)
        rows = [Row(label, *(float(value) for value in values)) for label, *values in columns]
        return Summary(rows, level, self.note, components_warning(self.n_components) if self.n_components > 1 else "")

    def __repr__(self) -> str:
        theta, kappa = (format_numbers(draws.mean(axis=0)) for draws in (self.theta, self.kappa))
        return (
            f"Posterior({plural(len(self.theta), 'draw')}, mean theta={theta}, mean kappa={kappa}, ess={self.ess:,.0f})"
        )

    def _repr_html_(self) -> str:
        theta, kappa = self.intervals()
        return html_estimates(
            "posterior means",
            0.9,
            Estimates(self.positions, self.kappa.mean(axis=0), kappa),
            Estimates(self.items, self.theta.mean(axis=0), theta),
            [self.note],
        )

    @property
    def at_position(self) -> Floats:
        """The probability that the best display has item i at position l, as an N x L matrix."""
        items = np.arange(self.theta.shape[1])
        return np.asarray((self.displays[:, None, :] == items[None, :, None]).mean(axis=0))

    def best(self, display: Mapping[str, str] | Sequence[int]) -> float:
        """The probability that `display` is the best display.

        `display` maps names of positions to names of items, or is a list of item indices.
        """
        indices = self._item_indices(display)
        return float((self.displays == indices).all(axis=1).mean())

    def _item_indices(self, display: Any) -> Ints:
        n_items, n_positions = self.theta.shape[1], self.kappa.shape[1]
        indices = np.full(n_positions, EMPTY)
        if isinstance(display, Mapping):
            for position, item in display.items():
                k = self.positions.index(one_of("position", position, self.positions))
                indices[k] = self.items.index(one_of("item", item, self.items))
        elif isinstance(display, str) or not isinstance(display, Sequence | np.ndarray) or len(display) != n_positions:
            raise BadInput(
                f"display = {format_value(display)} is not a mapping or a list of {n_positions} item indices"
            )
        else:
            indices[:] = [integer_at_least("display", item, least=EMPTY) for item in display]
        items = indices[indices != EMPTY]
        if items.max(initial=0) >= n_items or len(set(items.tolist())) < items.size:
            raise BadInput(
                f"display = {format_value(display)} is not made of different item indices from 0 to {n_items - 1}"
            )
        filled = int((self.displays[0] != EMPTY).sum())
        if items.size != filled:
            raise BadInput(
                f"display = {format_value(display)} fills {items.size} positions, but a best display fills {filled}; "
                "for single positions use at_position"
            )
        return indices


class LabelGroup(NamedTuple):
    """The items that may be displayed at some positions, and the item that is pinned at each of them, or EMPTY."""

    allowed: NDArray[np.bool_]
    positions: Ints
    pinned: Ints


class Labels(NamedTuple):
    """Names of the rows and columns of counts, the items that may be displayed, and what the best display maximises."""

    items: list[str]
    positions: list[str]
    allowed: NDArray[np.bool_]  # N: whether an item may be in the best display
    groups: tuple[LabelGroup, ...] = ()  # further displays
    rules: ItemRules = NO_RULES


class Goal(NamedTuple):
    """The conditions under which sampling ends."""

    draws: int
    ess: float
    budget: int  # the limit of sweeps over all chains


def posterior(
    counts: Counts,
    draws: int = 4000,
    prior: str | tuple[float, float] = "uniform",
    reference: str = "none",
    ess: float | None = None,
    budget: int | None = None,
    seed: int = 0,
    labels: Labels | None = None,
    threads: int | None = None,
    burn_in: int = BURN_IN,
) -> Posterior:
    """Draw theta and kappa given counts until the effective sample size is at least `ess` or the budget is spent.

    A priori, every kappa is uniform on [0, 1]. `prior` is the prior of theta: `"uniform"`; a pair (a, b) with a, b >= 1
    for Beta(a, b); `"learnt"` for a Beta whose a and b are learnt from all items together; or `"falling"` for a = 1 and
    b learnt. `reference="first"` fixes kappa_1 = 1. `ess` is half of the draws by default. `budget` limits the total
    number of sweeps of all chains. By default it is a hundred times the number of draws. Each of the four chains always
    runs its `burn_in` sweeps and one sweep per draw, even if this exceeds the budget. The chains run on `threads`
    threads, by default one per core. The number of threads does not change the draws.

    >>> result = posterior(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]), draws=1000)
    >>> result.reached, result.best([0, 1]) > 0.9
    (True, True)
    """
    target = target_of(counts, prior, reference)
    n_draws = integer_at_least("draws", draws, least=1)
    goal = Goal(
        n_draws,
        n_draws / 2.0 if ess is None else number("ess", ess),
        MOST_SWEEPS * n_draws if budget is None else integer_at_least("budget", budget, least=1),
    )
    if not 0.0 <= goal.ess <= n_draws:
        raise BadInput(f"ess = {goal.ess:g} is not between 0 and the number of draws, {n_draws}")
    check_size(n_draws, target)
    seeds = np.random.SeedSequence(integer_at_least("seed", seed, least=0)).spawn(CHAINS)
    chains = [ChainOnObserved(target, np.random.default_rng(chain_seed)) for chain_seed in seeds]
    workers = os.cpu_count() if threads is None else integer_at_least("threads", threads, least=1)
    return _sample(
        target, chains, integer_at_least("burn_in", burn_in, least=0), goal, labels or index_labels(target), workers
    )


def _sample(
    target: Target, chains: list[ChainOnObserved], burn_in: int, goal: Goal, labels: Labels, workers: int | None
) -> Posterior:
    """Record again, with up to twice the thinning, until the goal is reached. Each record replaces the earlier one."""
    draws, thin = -(-goal.draws // len(chains)), 1
    with ThreadPoolExecutor(workers, thread_name_prefix="slotwise") as pool:
        try:
            list(pool.map(lambda chain: chain.burn_in(burn_in), chains))
            while True:
                list(pool.map(lambda chain, thin=thin: chain.record(draws, thin), chains))
                sweeps = sum(chain.sweeps for chain in chains)
                result = collect(target, chains, goal, sweeps, labels)
                next_thin = min(2 * thin, (goal.budget - sweeps) // (draws * len(chains)))
                if result.reached or next_thin <= thin:
                    return result
                thin = next_thin
        except BaseException:
            for chain in chains:
                chain.stop()
            raise


def collect(
    target: Target, chains: Sequence[Chain | ChainOnObserved], goal: Goal, sweeps: int, labels: Labels
) -> Posterior:
    """The draws that the chains recorded. Each draw is scaled on its own."""
    theta, kappa, beta = (np.concatenate(arrays) for arrays in zip(*(chain.draws for chain in chains), strict=True))
    # before scaling, because scaling changes the order of items of different components
    everywhere = np.arange(kappa.shape[1])
    everything = LabelGroup(labels.allowed, everywhere, np.full_like(everywhere, EMPTY))
    displays = _best_displays(theta, kappa, everything, labels.rules)
    group_displays = tuple(_best_displays(theta, kappa, group, labels.rules)[: goal.draws] for group in labels.groups)
    item_components, position_components = components(target.counts)
    normalise(theta, kappa, item_components, position_components, target.free_from)
    unlinked = unlinked_positions(item_components, position_components)
    unlinked[: target.free_from] = False  # the reference is 1 by assumption
    by_chain = np.concatenate([theta, kappa], axis=1).reshape(len(chains), -1, theta.shape[1] + kappa.shape[1])
    n = goal.draws
    return Posterior(
        theta=theta[:n],
        kappa=kappa[:n],
        displays=displays[:n],
        beta=beta[:n],
        by_chain=by_chain,
        sweeps=sweeps,
        budget=goal.budget,
        target_ess=goal.ess,
        items=labels.items,
        positions=labels.positions,
        n_components=len(set(position_components.tolist())),
        unlinked=unlinked,
        group_displays=group_displays,
    )


def _best_displays(theta: Floats, kappa: Floats, group: LabelGroup, rules: ItemRules) -> Ints:
    displays = np.empty((len(kappa), group.positions.size), np.int64)
    _arrange_all(theta, np.ascontiguousarray(kappa[:, group.positions]), group, rules, displays)
    return displays


@kernel
def _arrange_all(theta: Floats, kappa: Floats, group: LabelGroup, rules: ItemRules, displays: Ints) -> None:
    allowed, pinned = group.allowed, group.pinned
    for draw in range(theta.shape[0]):
        arrange_among(theta[draw], kappa[draw], allowed, pinned, rules, displays[draw])


def check_size(draws: int, target: Target) -> None:
    """Raise BadInput if the draws would not fit into memory."""
    size = draws * sum(target.shape)
    if size > MOST_NUMBERS:
        raise BadInput(
            f"draws = {draws:,} of {sum(target.shape):,} variables are too many; the limit is {MOST_NUMBERS:,} numbers"
        )


def target_of(counts: Counts, prior: Any, reference: str) -> Target:
    """Validate the arguments and return the posterior that they describe."""
    if not isinstance(counts, Counts):
        raise BadInput(f"counts = {format_value(counts)} is {type(counts).__name__}; Counts(clicks, skips) are needed")
    beta, learnt = (1.0, 1.0), Learnt.NOTHING
    if isinstance(prior, str):
        learnt = PRIORS[one_of("prior", prior, PRIORS)]
    elif isinstance(prior, list | tuple) and len(prior) == 2:
        beta = number("prior's a", prior[0]), number("prior's b", prior[1])
        if not all(1.0 <= value < np.inf for value in beta):  # False for NaN too
            raise BadInput(f"prior = {format_value(prior)} is not a Beta law with a, b of at least 1")
    else:
        raise BadInput(
            f"prior = {format_value(prior)} is not 'uniform', 'learnt', 'falling', or a pair of numbers (a, b)"
        )
    return Target(counts.arrays(), beta, learnt, REFERENCES[one_of("reference", reference, REFERENCES)])


def index_labels(target: Target) -> Labels:
    """Labels that use indices as names. Every item may be displayed."""
    n_items, n_positions = target.shape
    return Labels([str(k) for k in range(n_items)], [str(k) for k in range(n_positions)], np.ones(n_items, np.bool_))
