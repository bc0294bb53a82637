"""The contract of a policy: find its module, check its names, and build its settings."""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin, get_type_hints

import numpy as np

from slotwise.checks import BadInput, Floats, format_value, integer, number, one_of, string_mapping, vector
from slotwise.clickmodels._click_model import (
    NO_CONTEXT,
    NO_FEATURES,
    NO_KAPPA,
    ONE_CLICK,
    BestDisplay,
    ClickModel,
    Context,
    Feedback,
    FeedbackUnit,
    ItemFeatures,
    TrueKappa,
)
from slotwise.clickmodels.pbm import PBM, UNKNOWN, Model
from slotwise.jit import checks_bounds, is_kernel
from slotwise.policies import policies
from slotwise.policies._policy_errors import error_text, is_outside, name_of, problem_at, reported_errors
from slotwise.policies._source_lines import line_of_error, line_of_name

_loaded_sources: dict[str, bytes] = {}  # the source of each policy file, by the name of its module

NAMES = ("Params", "State", "init", "choose", "update")
SERVING_NAMES = ("score", "grow")
KERNELS = (
    "choose",
    "update",
    "score",
    "score_values",
    "count_row",
)  # called by compiled loops; init and grow may be plain functions
SETTING_TYPES = "float, int, bool, IntEnum, array, Model, BestDisplay, ItemFeatures, Context, TrueKappa or FeedbackUnit"
GIVEN_TYPES = (
    Model,
    BestDisplay,
    ItemFeatures,
    Context,
    TrueKappa,
    FeedbackUnit,
)  # what a simulation fills in from its click model
SIGNATURES = {
    "init": ("params", "n_items", "n_positions", "rng"),
    "choose": ("params", "state", "rng", "display"),
    "update": ("params", "state", "display", "clicks"),
    "check": ("params",),
    "check_state": ("state",),
    "score": ("params", "state", "rng", "theta", "kappa"),
    "score_values": ("params", "state", "rng", "rules", "theta", "kappa"),
    "count_row": ("params", "state", "item"),
    "grow": ("params", "state", "n_items", "n_positions", "rng"),
}


def find(policy: str | ModuleType) -> ModuleType:
    """The module of a policy that is given by its name, by the path of a .py file, or as a module."""
    if isinstance(policy, ModuleType):
        return _validated(policy)
    if isinstance(policy, str) and policy.endswith(".py"):
        return _validated(_load(Path(policy)))
    return _validated(importlib.import_module(f"slotwise.policies.{one_of('policy', policy, policies())}"))


@dataclass(frozen=True)
class PolicyReference:
    """How another process finds a policy: by the name of its module or, if that fails, by its file."""

    name: str
    path: str | None

    @classmethod
    def of(cls, module: ModuleType) -> "PolicyReference":
        return cls(module.__name__, getattr(module, "__file__", None))

    def load(self) -> ModuleType:
        """Import the module in this process."""
        try:
            return _validated(importlib.import_module(self.name))
        except ModuleNotFoundError:
            if self.path is None:
                raise BadInput(f"policy {self.name!r} has no file, so another process cannot import it") from None
            return find(self.path)


def can_serve(module: ModuleType) -> bool:
    """Whether a recommender can use the policy. Constraints need `score`, and new items need `grow`."""
    return all(hasattr(module, name) for name in SERVING_NAMES) and keeps_counts(module)


def keeps_counts(module: ModuleType) -> bool:
    """Whether the policy stores all that it learns in the counts of its state. Counts can be changed and restored."""
    return "counts" in module.State._fields


def learns(module: ModuleType) -> bool:
    """Whether displays depend on the counts."""
    return getattr(module, "LEARNS", True)


def feedback_of(module: ModuleType) -> tuple[Feedback, ...]:
    """What the visitors may reveal, so that the policy can learn from them."""
    return getattr(module, "FEEDBACK", (Feedback.CLICKS,))


def problem_with_visitors(module: ModuleType, model: ClickModel) -> str | None:
    """Why the policy cannot learn from visitors of this click model. None if it can.

    A policy that understands the feedback, but assumes another click model, can learn.
    """
    understood = feedback_of(module)
    if model.FEEDBACK not in understood:
        learns_from = " or ".join(f"{kind.value!r}" for kind in understood)
        return f"learns from {learns_from}, but {model.click_model} visitors reveal {model.FEEDBACK.value!r}"
    if getattr(module, "NEEDS_FEATURES", False) and not np.size(getattr(model.arrays(), "features", ())):
        return f"needs features of the items, but the {model.click_model} visitors come without"
    return None


def setting_types(module: ModuleType) -> dict[str, Any]:
    """The annotated type of each setting of the policy, as {name: type}."""
    with reported_errors(module):
        kinds = get_type_hints(module.Params)
    for name, kind in kinds.items():
        if not (kind in (float, int, bool, *GIVEN_TYPES) or _is_choice(kind) or _is_array(kind)):
            wrong = f"Params.{name} is of type {getattr(kind, '__name__', kind)}"
            raise problem_at(module, "Params", f"{wrong}; a setting is a {SETTING_TYPES}")
    return kinds


def make_params(module: ModuleType, params: Mapping[str, Any] | None, model: Any) -> Any:
    """Build the policy's Params from `params` and defaults. Each value is converted to its annotated type.

    `model` is the true click model in the form that the kernels use, or None. Oracles have a setting of type Model, the
    true PBM, or UNKNOWN if there is none. Or they have one of type BestDisplay, which is empty if `model` is None.
    """
    hints = setting_types(module)
    settings = dict(string_mapping("params", {} if params is None else params))
    for name in settings:
        one_of(f"{name_of(module)} parameter", name, hints)
    for name, kind in hints.items():
        if kind is Model:
            settings.setdefault(name, model if isinstance(model, Model) else UNKNOWN)
        elif kind is BestDisplay:
            settings.setdefault(name, _best_display(model))
        elif kind is ItemFeatures:
            settings.setdefault(name, ItemFeatures(model.features) if hasattr(model, "features") else NO_FEATURES)
        elif kind is Context:
            settings.setdefault(name, getattr(model, "context", NO_CONTEXT))
        elif kind is TrueKappa:
            settings.setdefault(name, TrueKappa(model.kappa) if hasattr(model, "kappa") else NO_KAPPA)
        elif kind is FeedbackUnit:
            settings.setdefault(name, getattr(model, "feedback_unit", ONE_CLICK))
    missing = [name for name in hints if name not in settings and name not in module.Params._field_defaults]
    if missing:
        raise problem_at(module, "Params", f"Params.{missing[0]} needs a default")
    full = module.Params._field_defaults | settings
    checked = module.Params(**{name: _convert(name, hints[name], value) for name, value in full.items()})
    problem = problem_found(module, "check", checked)
    if problem:
        raise BadInput(problem)
    return checked


def problem_found(module: ModuleType, name: str, value: Any) -> str | None:
    """The error message of the policy's `check` or `check_state` about a value. None if it is valid or not checked."""
    if not hasattr(module, name):
        return None
    with reported_errors(module):
        problem = getattr(module, name)(value)
    if problem is not None and not isinstance(problem, str):
        raise problem_at(module, name, f"{name} returns {problem!r}; a text or None is needed")
    return problem


def serving_params(module: ModuleType, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings for a real page. `reference` defaults to "none", because the most visible position is unknown."""
    settings = dict(string_mapping("params", {} if params is None else params))
    if "reference" in module.Params._fields:
        settings.setdefault("reference", "none")
    return settings


def plain_params(module: ModuleType, params: Any) -> dict[str, Any]:
    """The settings as plain values, which can be printed or saved. What a click model fills in is left out."""
    kinds = setting_types(module)
    plain = {name: value for name, value in params._asdict().items() if kinds[name] not in GIVEN_TYPES}
    for name, value in plain.items():
        if _is_choice(kinds[name]):
            plain[name] = kinds[name](value).name.lower()
        elif hasattr(value, "tolist"):
            plain[name] = value.tolist()
    return plain


def _convert(name: str, kind: Any, value: Any) -> Any:
    """Convert `value` to the annotated type, so that kernels are compiled for one signature only."""
    if kind is Model:
        if not isinstance(value, PBM | Model):
            raise BadInput(f"{name} = {format_value(value)} is not a PBM")
        return value.arrays() if isinstance(value, PBM) else value
    if kind in (BestDisplay, Context, TrueKappa, FeedbackUnit):
        if not isinstance(value, kind):
            raise BadInput(f"{name} = {format_value(value)} is not a {kind.__name__}")
        return value
    if kind is ItemFeatures:
        return ItemFeatures(_feature_matrix(name, value))
    if _is_choice(kind):
        return _choice(name, kind, value)
    if kind is bool:
        if not isinstance(value, bool):
            raise BadInput(f"{name} = {value!r} is not true or false")
        return value
    if kind is int:
        return integer(name, value)
    if kind is float:
        return number(name, value)
    return vector(name, value)


def _feature_matrix(name: str, value: Any) -> Floats:
    """The features as a matrix of one type and layout, so that kernels are compiled only once.

    The array itself is kept if possible, because a click model may write the features of each round into it.
    """
    given = value.values if isinstance(value, ItemFeatures) else np.asarray(value)
    if given.ndim != 2 or given.dtype.kind not in "fiub" or not np.isfinite(given).all():
        raise BadInput(f"{name} = {format_value(value)} is not a matrix of finite numbers, with a row per item")
    return np.ascontiguousarray(given, dtype=np.float64)


def _best_display(model: Any) -> BestDisplay:
    if model is None:
        return BestDisplay(np.empty(0, np.int64))
    return BestDisplay(sys.modules[type(model).__module__].best_display(model))


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, IntEnum)


def _is_array(kind: Any) -> bool:
    """Whether the type is an array, or a sequence that is converted to an array. A string is neither."""
    origin = get_origin(kind) or kind
    return (
        isinstance(origin, type) and issubclass(origin, np.ndarray | Sequence) and not issubclass(origin, str | bytes)
    )


def _choice(name: str, kind: type[IntEnum], value: Any) -> int:
    """The number of an enum member. Passing the member itself to numba would cost 15 microseconds per call."""
    options = {member.name.lower(): member for member in kind}
    if isinstance(value, kind):
        return int(value)
    if not isinstance(value, str) or value not in options:
        raise BadInput(f"{name} = {value!r} is not one of {', '.join(options)}")
    return int(options[value])


def _validated(module: ModuleType) -> ModuleType:
    missing = [name for name in NAMES if not hasattr(module, name)]
    if missing:
        file = line_of_name(module, None)
        raise BadInput(
            f"module {name_of(module)!r} is not a policy: it lacks {', '.join(missing)}; "
            f"a policy has {', '.join(NAMES)}" + (f" ({file})" if file else "")
        )
    for name in ("Params", "State"):
        if not hasattr(getattr(module, name), "_fields"):
            raise problem_at(module, name, f"{name} is not a NamedTuple")
    if is_outside(module):
        for name, arguments in SIGNATURES.items():
            _check_function(module, name, arguments)
    return module


def _check_function(module: ModuleType, name: str, arguments: tuple[str, ...]) -> None:
    """Raise an error if the compiled loop cannot call a function. Numba's own message would name the loop."""
    function = getattr(module, name, None)
    if function is None:
        return
    if not callable(function):
        raise problem_at(module, name, f"{name} is not a function")
    if name in KERNELS and not (is_kernel(function) and checks_bounds(function)):
        raise problem_at(module, name, f"{name} is not a kernel; put @kernel, from slotwise.jit, before it")
    signature = inspect.signature(getattr(function, "py_func", function))
    try:
        signature.bind(*arguments)
    except TypeError:
        needed = ", ".join(arguments)
        raise problem_at(module, name, f"{name} takes {signature}; ({needed}) is needed") from None


def _load(path: Path) -> ModuleType:
    """Import a file, and import it again after an edit.

    The module has the same name in every process, because the compile cache requires this.
    """
    if not path.is_file():
        raise BadInput(f"the policy file {str(path)!r} does not exist")
    resolved = path.resolve()
    name = f"slotwise_policy_{resolved.stem}_{hashlib.sha256(str(resolved).encode()).hexdigest()[:8]}"
    source = resolved.read_bytes()
    if name in sys.modules and _loaded_sources.get(name) == source:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, resolved)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name], _loaded_sources[name] = module, source
    try:
        exec(compile(source, str(resolved), "exec"), module.__dict__)  # Python's own loader may reuse an older .pyc
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = line_of_error(module, error, [])
        raise BadInput(f"{str(path)!r} cannot be imported: {error_text(error)} ({line})") from error
    return module
