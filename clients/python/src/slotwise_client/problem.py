"""Error answers of the service: RFC 9457 problem details (application/problem+json)."""

import json
from typing import NamedTuple

from slotwise_client.flow import Answer, Exchange


class FieldError(NamedTuple):
    """An invalid field of a request, given by a JSON pointer."""

    pointer: str
    detail: str


class Problem(NamedTuple):
    """Why the service refuses a request. `str` gives one line."""

    detail: str
    errors: list[FieldError]

    def __str__(self) -> str:
        by_field = [f"{error.pointer}: {error.detail}" for error in self.errors if error.pointer]
        return "; ".join(by_field) or self.detail


def read_problem(content: bytes) -> Problem:
    """The problem in an answer. An answer of another program has no reason."""
    try:
        answer = json.loads(content)
        errors = [FieldError(str(error["pointer"]), str(error["detail"])) for error in answer.get("errors", ())]
        return Problem(str(answer["detail"]), errors)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Problem("no reason given", [])


def describe_failure(result: Exchange) -> str:
    """Why a request failed, in a few words."""
    if isinstance(result, Answer):
        return f"the service answers {result.status}: {read_problem(result.content)}"
    return f"no answer from the service: {result.reason}"
