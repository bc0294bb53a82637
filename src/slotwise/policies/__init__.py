"""Policies: how displays are chosen. One file here is one policy; its name is the file's name."""

import pkgutil


def policies() -> list[str]:
    """The names of the policies that come with slotwise."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
