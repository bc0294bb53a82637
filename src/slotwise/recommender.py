"""The policies behind named items and positions, one call at a time."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from slotwise.arrange import EMPTY, arrange_among
from slotwise.checks import BadInput, Ints, known, mapping, names, whole
from slotwise.counts import CountArrays, Counts, move, restore
from slotwise.files import load_document, save_document
from slotwise.inference.fit_files import Fits, select_fit
from slotwise.inference.sampling.posterior import Named, Posterior, posterior
from slotwise.jit import kernel
from slotwise.policies._contract import can_serve, find, make_params, name_of, plain_params, serving_params

FORMAT_VERSION = 1
SETTLING = 500  # displays asked for and shown to nobody, before the first after a fit: chains start anywhere
Display = dict[str, str]


class Recommender:
    """Learns which item to show at which position of one page.

    >>> page = Recommender(items=["hat", "tie", "bag"], positions=["hero", "side"], seed=7)
    >>> display = page.recommend(pinned={"side": "tie"})
    >>> display["side"]
    'tie'
    >>> page.learn(display, clicked=["hero"])
    """

    def __init__(
        self,
        items: Iterable[str],
        positions: Iterable[str],
        policy: str | ModuleType = "slot_ts",
        params: Mapping[str, Any] | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self._items = _names("item", items)
        self._positions = _names("position", positions)
        if len(self._positions) > len(self._items):
            raise BadInput(
                f"{len(self._positions)} positions but only {len(self._items)} items: "
                "a display needs at least as many items as positions"
            )
        self._module = find(policy)
        if not can_serve(self._module):
            raise BadInput(f"policy {name_of(self._module)} cannot serve: it has no score, grow or counts")
        self._params = make_params(self._module, serving_params(self._module, params), None)
        self._rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(whole("seed", seed, 0))
        self._active = np.ones(len(self._items), np.bool_)
        self._state = self._module.init(self._params, len(self._items), len(self._positions), self._rng)
        self._serve = _serve_of(self._module)
        self._make_room()

    @classmethod
    def from_fit(
        cls,
        fit: Fits,
        query: str | None = None,
        items: Iterable[str] | None = None,
        policy: str | ModuleType = "slot_ts",
        params: Mapping[str, Any] | None = None,
        seed: int | np.random.Generator = 0,
        displays: float | None = 100,
    ) -> "Recommender":
        """A page that starts from what was fitted to a log: a fit, or the file or list of fits that `query` is in.

        It starts with the clicks and skips of the log, faded so that they weigh no more than so many `displays` (None:
        all they weigh). `items` are those of the page, by default the fit's; those that the fit does not know start
        afresh, and those that the page does not have are retired: they still tell how visible positions are.
        """
        model = select_fit(fit, query, "query=")
        counts = model.faded(displays)
        page = cls(model.items if items is None else items, model.positions, policy, params, seed)
        gone = [name for name in model.items if name not in page._items]
        if gone:
            page.add(*gone)
            page.retire(*gone)
        clicks, skips = np.zeros((2, len(page._items), len(page._positions)))
        rows = [page._items[name] for name in model.items]
        clicks[rows], skips[rows] = counts.clicks, counts.skips
        restore(page._state.counts, clicks, skips, counts.displays)
        for _ in range(SETTLING):
            page.recommend()
        return page

    @property
    def items(self) -> list[str]:
        """The items that may be shown, in the order they were added."""
        return [name for name, index in self._items.items() if self._active[index]]

    @property
    def retired(self) -> list[str]:
        """The items that were retired; their counts are kept."""
        return [name for name, index in self._items.items() if not self._active[index]]

    @property
    def all_items(self) -> list[str]:
        """All items ever added, retired ones too: the rows of `counts`."""
        return list(self._items)

    @property
    def positions(self) -> list[str]:
        """The positions, in the order given."""
        return list(self._positions)

    @property
    def counts(self) -> Counts:
        """A copy of all that was learnt: a row for each item, retired ones too, a column for each position."""
        return Counts.of(self._state.counts)

    def recommend(
        self,
        eligible: Iterable[str] | None = None,
        excluded: Iterable[str] = (),
        pinned: Mapping[str, str] | None = None,
    ) -> Display:
        """The display to show now, as {position: item}.

        Only `eligible` items (None: all) that are not `excluded` are shown; `pinned` maps positions to items
        that must stand there, eligible or not. Excluding beats pinning. When items run out, the least visible
        positions are left out of the answer.
        """
        allowed, pins = self._active, self._no_pins
        if eligible is not None:
            allowed = np.zeros_like(self._active)
            allowed[[self._item(name) for name in names("eligible", eligible)]] = True
            allowed &= self._active
        if pinned is not None and len(mapping("pinned", pinned)):
            pins = self._no_pins.copy()
            for position, name in pinned.items():
                pins[self._position(position)] = self._item(name)
        barred = [self._item(name) for name in names("excluded", excluded)]
        if barred:
            allowed = allowed.copy()
            allowed[barred] = False
            pins = np.where(np.isin(pins, barred), EMPTY, pins)
        if pins is not self._no_pins:
            self._check_pins(pins)
        self._serve(self._params, self._state, self._rng, self._theta, self._kappa, allowed, pins, self._display)
        shown = self._display.tolist()
        return {position: self._item_names[shown[k]] for position, k in self._positions.items() if shown[k] != EMPTY}

    def learn(self, display: Mapping[str, str], clicked: Iterable[str] = ()) -> None:
        """Count a display that was shown and the positions that were clicked; all others count as skipped.

        A display without any item, when none was left to show, teaches nothing and counts for nothing.
        """
        shown = self._read(display)
        clicks = np.zeros(len(self._positions), np.int64)
        for position in names("clicked", clicked):
            clicks[self._shown_position(display, position)] = 1
        if display:
            self._module.update(self._params, self._state, shown, clicks)

    def late_click(self, display: Mapping[str, str], clicked: Iterable[str]) -> None:
        """A click that came after `learn`: what was counted as skipped becomes clicked."""
        shown = self._read(display)
        late = {self._shown_position(display, position) for position in names("clicked", clicked)}
        for k in late:
            if self._state.counts.skips[shown[k], k] < 1.0:
                position, item = list(self._positions)[k], self._item_names[shown[k]]
                raise BadInput(f"no skip of {item!r} at {position!r} is left that a late click could move")
        for k in late:
            move(self._state.counts, int(shown[k]), k)

    def add(self, *items: str) -> None:
        """Add items, or bring retired ones back with what was learnt of them; takes effect at once."""
        fresh = _names("item", items)
        for name in fresh:
            if name in self._items and self._active[self._items[name]]:
                raise BadInput(f"item {name!r} is there already")
        new = [name for name in fresh if name not in self._items]
        for name in fresh:
            if name in self._items:
                self._active[self._items[name]] = True
        for name in new:
            self._items[name] = len(self._items)
        if new:
            size = len(self._items)
            self._state = self._module.grow(self._params, self._state, size, len(self._positions), self._rng)
            self._active = np.concatenate([self._active, np.ones(len(new), np.bool_)])
        self._make_room()

    def retire(self, *items: str) -> None:
        """Show these items no more; what was learnt of them is kept."""
        indices = [self._item(name) for name in items]
        self._active[indices] = False

    @property
    def theta(self) -> dict[str, float]:
        """Posterior mean attractiveness by item, where the most visible position has visibility 1."""
        means = self.posterior().theta.mean(axis=0)
        return {name: float(means[index]) for name, index in self._items.items()}

    @property
    def kappa(self) -> dict[str, float]:
        """Posterior mean visibility by position, the most visible one having 1 in every draw."""
        means = self.posterior().kappa.mean(axis=0)
        return {name: float(means[index]) for name, index in self._positions.items()}

    def posterior(
        self,
        draws: int = 1000,
        prior: str | tuple[float, float] = "uniform",
        reference: str = "none",
        ess: float | None = None,
        budget: int | None = None,
    ) -> Posterior:
        """Posterior draws, as `slotwise.posterior` gives them: a column for each item, retired ones too.

        The best displays are those of the items that may be shown. The same counts always give the same draws.
        """
        return posterior(self.counts, draws, prior, reference, ess, budget, named=self.named())

    def named(self) -> Named:
        """The names of the rows and columns of `counts`, and which items may be shown."""
        return Named(list(self._items), list(self._positions), self._active.copy())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything as versioned JSON; a loaded copy goes on bit for bit."""
        body = _Saved(
            policy=self._module.__name__,
            policy_file=self._module.__file__ or "",
            params=plain_params(self._module, self._params),
            items=list(self._items),
            retired=self.retired,
            positions=list(self._positions),
            state=_plain(self._state),
            rng=_rng_state(self._rng),
        )
        save_document(path, "recommender", FORMAT_VERSION, body)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: ModuleType | None = None) -> "Recommender":
        """Read back what `save` wrote; a policy from outside slotwise is handed in as a module."""
        saved = load_document(path, "recommender", FORMAT_VERSION, _Saved)
        damaged = f"{str(path)!r} is a damaged slotwise recommender"
        package, _, name = saved.policy.rpartition(".")
        if policy is None and package != "slotwise.policies":
            raise BadInput(f"{str(path)!r} was saved with the policy module {saved.policy!r}; pass it as policy=")
        try:
            page = cls(saved.items, saved.positions, policy or name, saved.params, seed=_rng(saved.rng))
            page._state = _refill(page._state, saved.state)
            _recount(page._state.counts)
            wrong = page._module.check_state(page._state) if hasattr(page._module, "check_state") else None
            if wrong:
                raise BadInput(wrong)
            page.retire(*saved.retired)
            page._rng = _rng(saved.rng)
        except (BadInput, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise BadInput(f"{damaged}: {error}") from None
        return page

    def _make_room(self) -> None:
        self._theta, self._kappa = np.empty(len(self._items)), np.empty(len(self._positions))
        self._display = np.empty(len(self._positions), np.int64)
        self._no_pins = np.full(len(self._positions), EMPTY, np.int64)
        self._item_names = list(self._items)

    def _item(self, name: str) -> int:
        index = self._items.get(name) if isinstance(name, str) else None
        return self._items[known("item", name, self._items)] if index is None else index

    def _position(self, name: str) -> int:
        index = self._positions.get(name)
        return self._positions[known("position", name, self._positions)] if index is None else index

    def _shown_position(self, display: Mapping[str, str], position: str) -> int:
        k = self._position(position)
        if position not in display:
            raise BadInput(f"position {position!r} was clicked, but the display shows nothing there")
        return k

    def _read(self, display: Mapping[str, str]) -> Ints:
        """A display by name as a display by index, checked."""
        if not isinstance(display, Mapping):
            raise BadInput(f"display = {display!r} is not a mapping of positions to items")
        shown = self._no_pins.copy()
        for position, name in display.items():
            shown[self._position(position)] = self._item(name)
        if len(set(display.values())) < len(display):
            raise BadInput(f"display = {dict(display)!r} shows an item twice")
        return shown

    def _check_pins(self, pins: Ints) -> None:
        placed = pins[pins != EMPTY]
        if np.unique(placed).size < placed.size:
            raise BadInput("an item is pinned at two positions")
        for index in placed:
            if not self._active[index]:
                raise BadInput(f"item {self._item_names[index]!r} is retired and cannot be pinned")


class _Saved(msgspec.Struct):
    policy: str
    policy_file: str
    params: dict[str, Any]
    items: list[str]
    retired: list[str]
    positions: list[str]
    state: dict[str, Any]
    rng: dict[str, Any]


def _serve_of(module: ModuleType) -> Callable[..., None]:
    return _build_serve(module, module.score)


@cache
def _build_serve(policy: ModuleType, *loaded: Callable[..., Any]) -> Callable[..., None]:
    @kernel(depends=(policy,))
    def serve(params, state, rng, theta, kappa, allowed, pinned, display):  # type: ignore[no-untyped-def]
        policy.score(params, state, rng, theta, kappa)
        arrange_among(theta, kappa, allowed, pinned, display)

    return serve


def _names(what: str, given: Iterable[str]) -> dict[str, int]:
    """Names with their indices, in the order given."""
    listed = names(f"{what}s", given)
    if "" in listed:
        raise BadInput(f"{what} '' is not a name; a text of at least one character is needed")
    indices = {name: index for index, name in enumerate(dict.fromkeys(listed))}
    if len(indices) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise BadInput(f"{what} {twice!r} is given twice")
    if not indices:
        raise BadInput(f"no {what}s given; at least one is needed")
    return indices


def _plain(state: Any) -> dict[str, Any]:
    return {
        name: _plain(value) if hasattr(value, "_asdict") else np.asarray(value).tolist()
        for name, value in state._asdict().items()
    }


def _refill(state: Any, saved: Mapping[str, Any]) -> Any:
    """The state with every array filled from the saved one, of the same shape."""
    filled = {}
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            filled[name] = _refill(value, saved[name])
        else:
            array = np.array(saved[name], dtype=value.dtype)
            if array.shape != value.shape:
                raise BadInput(f"{name} has shape {array.shape} where {value.shape} is needed")
            if not np.isfinite(array).all():
                raise BadInput(f"{name} holds something that is not a finite number")
            filled[name] = array
    return type(state)(**filled)


def _recount(tally: CountArrays) -> None:
    """Counts checked as any others are, and every kept sum computed from them rather than believed."""
    counts = Counts.of(tally)
    kept = [array.copy() for array in tally]
    restore(tally, counts.clicks, counts.skips, counts.displays)
    if not all(np.allclose(before, after) for before, after in zip(kept, tally, strict=True)):
        raise BadInput("the sums do not fit the counts")


def _rng_state(rng: np.random.Generator) -> dict[str, Any]:
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise BadInput(f"a Recommender with {state['bit_generator']} randomness cannot be saved; use PCG64")
    inner = {key: str(value) for key, value in state["state"].items()}  # 128 bits: too wide for JSON numbers
    return {**state, "state": inner}


def _rng(saved: Mapping[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()
    state: Any = dict(saved) | {"state": {key: int(value) for key, value in saved["state"].items()}}
    bits.state = state
    return np.random.Generator(bits)
