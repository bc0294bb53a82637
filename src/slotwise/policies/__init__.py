"""Policies choose the displays. Each file is one policy, and the file name is the name of the policy."""

import pkgutil


def policies() -> list[str]:
    """The names of the policies that come with slotwise.

    >>> "slot_ts" in policies()
    True
    """
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
