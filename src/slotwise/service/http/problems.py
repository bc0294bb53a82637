"""Errors as RFC 9457 problem details (application/problem+json), and the HTTP status of each error of the service."""

import logging
import math
import secrets
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from msgspec import Struct

from slotwise.service.api.route import Response
from slotwise.service.errors import (
    Conflict,
    DoesNotFit,
    FieldError,
    FormatNotAvailable,
    NotFound,
    NotReady,
    Refused,
    ServiceError,
    StaleVersion,
    StoreDown,
    TooManyRequests,
    TooManyStreams,
    Unauthorized,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
STATUSES: dict[type[ServiceError], int] = {  # a subclass has the status of its nearest base class
    Unauthorized: 401,
    Refused: 403,
    NotFound: 404,
    FormatNotAvailable: 406,
    Conflict: 409,
    StaleVersion: 412,
    DoesNotFit: 422,
    TooManyRequests: 429,
    NotReady: 503,
    TooManyStreams: 503,
    StoreDown: 503,
}
_log = logging.getLogger("slotwise.service")


class ProblemBody(Struct):
    """An error. `errors` points to each invalid field; `request_id` identifies the error in the service's log."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError]
    request_id: str


class ErrorObject(Struct):
    """An error in the form that clients of Azure Personalizer expect."""

    code: str
    message: str


class PersonalizerProblem(ProblemBody):
    """A problem with the member `error`, for clients of Azure Personalizer."""

    error: ErrorObject


class Problem(Exception):
    """An HTTP error.

    Only code in `http` raises it, for errors in HTTP itself. All other code raises errors of the service.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: dict[str, str] | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, list(errors)
        self.request_id = request_id or secrets.token_hex(8)
        self.headers = dict(headers or {})
        if status in (429, 503):
            self.headers.setdefault("retry-after", str(RETRY_SECONDS))

    def content(self, for_personalizer: bool = False) -> bytes:
        """The problem as JSON."""
        title = HTTPStatus(self.status).phrase
        fields = ("about:blank", title, self.status, self.detail, self.errors, self.request_id)
        if for_personalizer:
            error = ErrorObject(title.replace(" ", ""), self.detail)
            return msgspec.json.encode(PersonalizerProblem(*fields, error))
        return msgspec.json.encode(ProblemBody(*fields))

    def response(self, for_personalizer: bool = False) -> Response:
        """The response that reports the problem."""
        return Response(self.status, self.content(for_personalizer), self.headers, MEDIA_TYPE)


def problem_of(error: Exception, request_id: str = "") -> Problem:
    """The HTTP error for an exception. An unexpected exception becomes a 500, and its traceback is logged."""
    if isinstance(error, Problem):
        error.request_id = request_id or error.request_id
        return error
    if isinstance(error, ServiceError):
        status = next(STATUSES[base] for base in type(error).__mro__ if base in STATUSES)
        return Problem(status, error.detail, error.errors, _headers(error), request_id)
    detail = "internal error; the service's log has the details under this request_id"
    problem = Problem(500, detail, request_id=request_id)
    _log.error("request %s failed", problem.request_id, exc_info=error)
    return problem


def _headers(error: ServiceError) -> dict[str, str]:
    if isinstance(error, Unauthorized):
        why = "" if error.key == "none" else ', error="invalid_token"'  # RFC 6750, section 3
        return {"www-authenticate": f'Bearer realm="slotwise"{why}'}
    if isinstance(error, TooManyRequests):
        return {"retry-after": str(max(1, math.ceil(error.seconds)))}
    return {}
