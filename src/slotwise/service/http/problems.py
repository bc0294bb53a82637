"""Errors as RFC 9457 has them: application/problem+json, with a pointer to each part of a request that is wrong."""

import re
import secrets
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from slotwise.service.errors import (
    Conflict,
    DoesNotFit,
    FieldError,
    NotFound,
    NotReady,
    ServiceError,
    StaleVersion,
    StoreDown,
)
from slotwise.service.http.validation import misfit

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
STARTING = NotReady().detail
STATUSES = {NotFound: 404, Conflict: 409, StaleVersion: 412, DoesNotFit: 422, NotReady: 503, StoreDown: 503}


class Wrong(Struct):
    """One thing that is wrong: where in the request, as a JSON pointer, and what would be right."""

    pointer: str
    detail: str


class ProblemBody(Struct):
    """An error."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Wrong]
    request_id: str


class Problem(ServiceError):
    """A request that cannot be served as it is."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: list[tuple[str, str]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail, [FieldError(pointer, line) for pointer, line in errors or []])
        self.status, self.request_id = status, secrets.token_hex(8)
        self.headers = dict(headers or {})
        if status in (429, 503):
            self.headers.setdefault("retry-after", str(RETRY_SECONDS))

    def body(self) -> bytes:
        """As JSON, with an id under which the log has what went wrong here."""
        title = HTTPStatus(self.status).phrase
        errors = [Wrong(pointer, detail) for pointer, detail in self.errors]
        said = ProblemBody("about:blank", title, self.status, self.detail, errors, self.request_id)
        return msgspec.json.encode(said)


def of_service_error(error: ServiceError) -> Problem:
    """The status of an error of the service."""
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    return Problem(status, error.detail, [*error.errors])


def of_decoding(error: Exception, kind: Any) -> Problem:
    """400 for what is not JSON at all, 422 for JSON that is not of the type that the call takes."""
    if not isinstance(error, msgspec.ValidationError):
        return Problem(400, f"the body is not valid JSON: {error}")
    line, path = misfit(error, kind)
    return Problem(422, line, [(_pointer(path), line)])


def _pointer(path: str) -> str:
    """`$.positions[0]` as /positions/0; keys of mappings, which msgspec does not tell, as dashes."""
    inside = path.rpartition("$")[2].replace("[...]", "/-")
    return re.sub(r"\[(\d+)\]", r"/\1", inside).replace(".", "/")
