"""Preconditions of a change. A caller says which versions may be changed, so that no update is lost."""

from typing import NamedTuple

from slotwise.service.errors import StaleVersion


class Precondition(NamedTuple):
    """The versions that an If-Match header permits. Without the header, callers pass None as the precondition."""

    versions: frozenset[int] | None  # None for `If-Match: *`, which permits any version of something that exists

    @classmethod
    def exactly(cls, version: int) -> "Precondition":
        """The current version must be this one."""
        return cls(frozenset([version]))

    def check(self, version: int | None) -> None:
        """Raise StaleVersion unless the current version is permitted. It is None if there is nothing to change."""
        if version is None:
            raise StaleVersion("there is nothing that If-Match could match; without If-Match it would be created")
        if self.versions is not None and version not in self.versions:
            raise StaleVersion


EXISTS = Precondition(None)
