"""The errors of the service, independent of HTTP. `http.problems` maps each class to an HTTP status."""

from collections.abc import Sequence

from msgspec import Struct

STARTING = "starting: the kernels are not compiled yet"
PAGE_ARCHIVED = "the page was archived or deleted meanwhile"


class FieldError(Struct, frozen=True):
    """One invalid field of a request: a JSON pointer to the field, and what is wrong with it."""

    pointer: str
    detail: str


class ServiceError(Exception):
    """The service refuses a request and has changed nothing."""

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail, self.errors = detail, list(errors)


class NotFound(ServiceError):
    """There is no such page, item or position."""


class Conflict(ServiceError):
    """The request contradicts what is already stored."""


class TooFewItems(Conflict):
    """Fewer items may be shown than the layout has positions, and the caller wants all positions filled."""


class DoesNotFit(ServiceError):
    """The request is well formed, but does not fit its schema or its page."""

    @classmethod
    def at(cls, pointer: str, detail: str) -> "DoesNotFit":
        """An error about one invalid field. An empty pointer means the whole request."""
        return cls(detail, [FieldError(pointer, detail)])


class FormatNotAvailable(ServiceError):
    """The service cannot write the requested format, because a package is not installed on its machine."""


class StaleVersion(ServiceError):
    """The page or its counts have changed since the caller read them."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or "changed since it was read: the given version is not the current one")


class Refused(ServiceError):
    """The caller may not make this request. `key` is the id of its key, or another label for the metrics."""

    def __init__(self, detail: str, key: str = "none") -> None:
        super().__init__(detail)
        self.key = key


class Unauthorized(Refused):
    """The request has no valid key. The answer is delayed by `delay` seconds, to slow down a caller who guesses."""

    delay = 0.0


class Forbidden(Refused):
    """The key is valid, but does not allow this request."""


class TooManyRequests(Refused):
    """The key has used up its rate. It may be used again after `seconds`."""

    def __init__(self, detail: str, key: str = "none", seconds: float = 1.0) -> None:
        super().__init__(detail, key)
        self.seconds = seconds


class NotReady(ServiceError):
    """The kernels are not compiled yet. `compiled` is the number of functions compiled so far."""

    def __init__(self, compiled: int = 0) -> None:
        progress = f"starting: compiling, once on this machine, {compiled:,} functions so far"
        super().__init__(progress if compiled else STARTING)


class TooManyStreams(ServiceError):
    """So many pages with live numbers are open that another one would cost visitors."""


class StoreDown(ServiceError):
    """The store cannot write now. Nothing was recorded, and the request may be repeated."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or "the store cannot be written now; nothing was recorded: try again")


def raise_field_errors(errors: Sequence[FieldError]) -> None:
    """Raise `DoesNotFit` if there are errors. Its detail is that of the first error."""
    if errors:
        raise DoesNotFit(errors[0].detail, errors)
