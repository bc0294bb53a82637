"""A saved recommender: the content of its file, and how the state of a policy and of a generator become JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from slotwise.checks import BadInput
from slotwise.counts import CountArrays, Counts, restore

FORMAT_VERSION = 1


class SavedRecommender(msgspec.Struct):
    """The content of a saved recommender. The fields with defaults are newer than the format."""

    policy: str
    policy_file: str
    params: dict[str, Any]
    items: list[str]
    retired: list[str]
    positions: list[str]
    state: dict[str, Any]
    rng: dict[str, Any]
    visibility_rows: list[str] = []
    values: dict[str, float] = {}
    categories: dict[str, str] = {}
    most_per_category: int | None = None
    features: dict[str, dict[str, float | str]] = {}


def plain_state(state: Any) -> dict[str, Any]:
    """The state of a policy as lists and numbers."""
    return {
        name: plain_state(value) if hasattr(value, "_asdict") else np.asarray(value).tolist()
        for name, value in state._asdict().items()
    }


def refilled_state(state: Any, saved: Mapping[str, Any]) -> Any:
    """The state with every array replaced by the saved array. Both must have the same shape."""
    filled = {}
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            filled[name] = refilled_state(value, saved[name])
        else:
            array = np.array(saved[name], dtype=value.dtype)
            if array.shape != value.shape:
                raise BadInput(f"{name} has shape {array.shape} where {value.shape} is needed")
            if not np.isfinite(array).all():
                raise BadInput(f"{name} contains a value that is not a finite number")
            filled[name] = array
    return type(state)(**filled)


def recount(arrays: CountArrays) -> None:
    """Validate loaded counts, and recompute the sums that are stored with them."""
    counts = Counts.of(arrays)
    loaded = [array.copy() for array in arrays]
    restore(arrays, counts.clicks, counts.skips, counts.displays)
    if not all(np.allclose(before, after) for before, after in zip(loaded, arrays, strict=True)):
        raise BadInput("the sums do not match the counts")


def plain_rng(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as texts and numbers."""
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise BadInput(f"a Recommender with a {state['bit_generator']} generator cannot be saved; use PCG64")
    inner = {key: str(value) for key, value in state["state"].items()}  # 128 bits do not fit into JSON numbers
    return {**state, "state": inner}


def loaded_rng(saved: Mapping[str, Any]) -> np.random.Generator:
    """The generator that `plain_rng` described."""
    bits = np.random.PCG64()
    state: Any = dict(saved) | {"state": {key: int(value) for key, value in saved["state"].items()}}
    bits.state = state
    return np.random.Generator(bits)
