"""Click models describe how visitors click. One file is one model, and the file name is the name of the model."""

import pkgutil


def clickmodels() -> list[str]:
    """The names of the click models.

    >>> "pbm" in clickmodels()
    True
    """
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
