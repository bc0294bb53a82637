"""What can go wrong with a request, in the terms of the service; `http.problems` maps each to an HTTP status."""

from collections.abc import Sequence
from typing import NamedTuple


class FieldError(NamedTuple):
    """One part of a request that is wrong: a JSON pointer to it, and what would be right."""

    pointer: str
    detail: str


class ServiceError(Exception):
    """A request that the service does not carry out. It has changed nothing."""

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail, self.errors = detail, list(errors)


class NotFound(ServiceError):
    """There is no such page, item or position."""


class Conflict(ServiceError):
    """The request contradicts what is already there."""


class DoesNotFit(ServiceError):
    """The request is well formed, but does not fit its schema or its page."""

    @classmethod
    def at(cls, pointer: str, detail: str) -> "DoesNotFit":
        """One wrong part."""
        return cls(detail, [FieldError(pointer, detail)])


class TooFewItems(Conflict):
    """Fewer items may be shown than the layout has positions, and the caller wants all positions filled."""


class StaleVersion(ServiceError):
    """The page changed after the caller read it."""

    def __init__(self) -> None:
        super().__init__("changed since it was read: the If-Match header does not match")


class NotReady(ServiceError):
    """The kernels are not compiled yet."""

    def __init__(self) -> None:
        super().__init__("starting: the kernels are not compiled yet")


class StoreDown(ServiceError):
    """The store cannot write now. Nothing was recorded, and the request may be repeated."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or "the store cannot be written now; nothing was recorded: try again")
