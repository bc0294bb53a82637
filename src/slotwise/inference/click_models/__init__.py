"""Click models that can be fitted to the sessions of a log. One file is one model, and its name is the model's name.

A file has `SPECIAL_CASES`, the models that are special cases of this one, and `fit`, which returns a `SessionFit`.
"""

import pkgutil


def fitted_models() -> list[str]:
    """The names of the models that `fit_queries` can fit to sessions.

    >>> fitted_models()
    ['cascade', 'dbn', 'dcm', 'pbm', 'sdbn', 'ubm']
    """
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
