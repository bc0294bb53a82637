"""Preconditions of a change: the versions at which the caller permits it, so that no update is lost."""

from typing import NamedTuple

from slotwise.service.errors import StaleVersion


class Precondition(NamedTuple):
    """What an If-Match header demands; callers without one pass None instead."""

    versions: frozenset[int] | None  # None: any version, but something must exist (`If-Match: *`)

    @classmethod
    def exactly(cls, version: int) -> "Precondition":
        """The current version must be this one."""
        return cls(frozenset([version]))

    def check(self, version: int | None) -> None:
        """Raise StaleVersion unless the current version is permitted; None: there is nothing to change."""
        if version is None:
            raise StaleVersion("there is nothing that If-Match could match; without If-Match it would be created")
        if self.versions is not None and version not in self.versions:
            raise StaleVersion


EXISTS = Precondition(None)
