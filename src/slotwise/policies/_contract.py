"""What makes a module a policy: finding it, checking its names, and making its settings from what people say."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from slotwise.checks import BadInput, known, mapping, number, shown, vector, whole
from slotwise.clickmodels.pbm import PBM, UNKNOWN, Model
from slotwise.policies import policies

NAMES = ("Params", "State", "init", "choose", "update")
SERVING_NAMES = ("score", "grow")


def find(policy: str | ModuleType) -> ModuleType:
    """The policy's module: by its name, by the path of a .py file, or a module as it is."""
    if isinstance(policy, ModuleType):
        return _checked(policy)
    if isinstance(policy, str) and policy.endswith(".py"):
        return _checked(_load(Path(policy)))
    return _checked(importlib.import_module(f"slotwise.policies.{known('policy', policy, policies())}"))


@dataclass(frozen=True)
class Address:
    """Where another process finds a policy: by the module's name, else by its file."""

    name: str
    path: str | None

    @classmethod
    def of(cls, module: ModuleType) -> "Address":
        """The address of a module."""
        return cls(module.__name__, getattr(module, "__file__", None))

    def find(self) -> ModuleType:
        """The module, imported here if it was not yet."""
        try:
            return _checked(importlib.import_module(self.name))
        except ModuleNotFoundError:
            if self.path is None:
                raise BadInput(f"policy {self.name!r} has no file, so another process cannot find it") from None
            return find(self.path)


def name_of(module: ModuleType) -> str:
    """The name to show for a policy."""
    file = getattr(module, "__file__", None)
    return Path(file).stem if file else module.__name__.rpartition(".")[2]


def can_serve(module: ModuleType) -> bool:
    """Whether the policy can live in a recommender: constraints need its scores, new items its growth."""
    return all(hasattr(module, name) for name in SERVING_NAMES) and keeps_counts(module)


def keeps_counts(module: ModuleType) -> bool:
    """Whether all that the policy learns is in its state's counts, so that they can be moved and restored."""
    return "counts" in module.State._fields


def make_params(module: ModuleType, given: Mapping[str, Any] | None, model: Model | None) -> Any:
    """The policy's Params: what is given, each value brought to its annotated type, else the defaults.

    A setting of type Model is what an oracle is told of the truth: `model`, UNKNOWN when there is none to tell.
    """
    hints = get_type_hints(module.Params)
    settings = dict(mapping("params", {} if given is None else given))
    for name in settings:
        known(f"{name_of(module)} parameter", name, hints)
    for name, kind in hints.items():
        if kind is Model:
            settings.setdefault(name, model or UNKNOWN)
    missing = [name for name in hints if name not in settings and name not in module.Params._field_defaults]
    if missing:
        raise BadInput(f"{name_of(module)} needs the parameter {missing[0]!r}")
    full = module.Params._field_defaults | settings
    params = module.Params(**{name: _coerce(name, hints[name], value) for name, value in full.items()})
    problem = module.check(params) if hasattr(module, "check") else None
    if problem:
        raise BadInput(problem)
    return params


def serving_params(module: ModuleType, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """On a real page nobody knows the most visible position, so by default none is the reference."""
    settings = dict(mapping("params", {} if given is None else given))
    if "reference" in module.Params._fields:
        settings.setdefault("reference", "none")
    return settings


def plain_params(module: ModuleType, params: Any) -> dict[str, Any]:
    """Params as plain values, to be shown and saved; what an oracle is told of the truth is left out."""
    kinds = get_type_hints(module.Params)
    plain = {name: value for name, value in params._asdict().items() if kinds[name] is not Model}
    for name, value in plain.items():
        if _is_choice(kinds[name]):
            plain[name] = kinds[name](value).name.lower()
        elif hasattr(value, "tolist"):
            plain[name] = value.tolist()
    return plain


def _coerce(name: str, kind: Any, value: Any) -> Any:
    """`value` as the annotated type, so that a kernel is compiled for one signature only."""
    if kind is Model:
        if not isinstance(value, PBM | Model):
            raise BadInput(f"{name} = {shown(value)} is not a PBM")
        return value.arrays() if isinstance(value, PBM) else value
    if _is_choice(kind):
        return _choice(name, kind, value)
    if kind is bool:
        if not isinstance(value, bool):
            raise BadInput(f"{name} = {value!r} is not true or false")
        return value
    if kind is int:
        return whole(name, value, least=-(2**63))
    if kind is float:
        return number(name, value)
    return vector(name, value)


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, IntEnum)


def _choice(name: str, kind: type[IntEnum], value: Any) -> int:
    """The number behind a choice: handing numba the enum member itself costs 15 microseconds per call."""
    options = {member.name.lower(): member for member in kind}
    if isinstance(value, kind):
        return int(value)
    if not isinstance(value, str) or value not in options:
        raise BadInput(f"{name} = {value!r} is not one of {', '.join(options)}")
    return int(options[value])


def _checked(module: ModuleType) -> ModuleType:
    missing = [name for name in NAMES if not hasattr(module, name)]
    if missing:
        raise BadInput(
            f"module {name_of(module)!r} is not a policy: it lacks {', '.join(missing)}; "
            f"a policy has {', '.join(NAMES)}"
        )
    for name in ("Params", "State"):
        if not hasattr(getattr(module, name), "_fields"):
            raise BadInput(f"{module.__name__}.{name} is not a NamedTuple")
    return module


def _load(path: Path) -> ModuleType:
    """Import a file under a name that is the same in every process, as the compile cache needs it."""
    if not path.is_file():
        raise BadInput(f"there is no policy file {str(path)!r}")
    where = path.resolve()
    name = f"slotwise_policy_{where.stem}_{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BadInput(f"{str(path)!r} cannot be imported: {type(error).__name__}: {error}") from error
    return module
