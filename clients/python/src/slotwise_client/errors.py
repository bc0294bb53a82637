"""The errors that a client raises when `raise_errors` is on."""


class SlotwiseError(Exception):
    """A recommendation failed."""


class ServiceUnavailable(SlotwiseError):
    """The service did not answer in time, could not be reached, or had an error of its own."""


class RequestRefused(SlotwiseError):
    """The service refused the request: an unknown page or item, an invalid field, or a key without permission."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail
