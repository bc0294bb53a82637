"""Click models that can be fitted to the sessions of a log. One file is one model, and its name is the model's name.

A file has `SPECIAL_CASES`, the models that are special cases of this one, and `fit`, which returns a `SessionFit`. A
model that `auto` does not compare with the others has `COMPARED = False`.
"""

import importlib
import pkgutil


def fitted_models() -> list[str]:
    """The names of the models that `fit_queries` can fit to sessions.

    >>> fitted_models()
    ['cascade', 'conjunctive', 'dbn', 'dcm', 'pbm', 'rank1', 'sdbn', 'ubm']
    """
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))


def compared_models() -> list[str]:
    """The models that explain the clicks of whole displays, so that `auto` can compare them.

    >>> compared_models()
    ['cascade', 'dbn', 'dcm', 'pbm', 'sdbn', 'ubm']
    """
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in fitted_models()}
    return [name for name, module in modules.items() if getattr(module, "COMPARED", True)]
