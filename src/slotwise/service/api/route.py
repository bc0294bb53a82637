"""A route as data: what it takes, what it answers, and the function that does it. OpenAPI is made from these."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from slotwise.service.http.problems import Problem, of_decoding
from slotwise.service.http.validation import misfit
from slotwise.service.pages.limits import Name
from slotwise.service.service import Service

SMALL, LARGE = 1 << 20, 32 << 20  # bytes of a body
JSON = "application/json"
OPERATIONS = "operations"  # the tag of routes that are about the service itself
Body = TypeVar("Body")


class Answer(NamedTuple):
    """What is sent back: bytes as they are, anything else as JSON."""

    status: int
    content: Any = b""
    headers: Mapping[str, str] = MappingProxyType({})
    media_type: str = JSON


class Call(NamedTuple):
    """One request."""

    service: Service
    path: dict[str, str]
    query: dict[str, str]
    headers: dict[bytes, bytes]
    content: bytes

    def if_match(self) -> int | None:
        """The version that the caller has seen, by the If-Match header; None when it does not care."""
        given = self.headers.get(b"if-match", b"*").decode("latin-1").strip()
        if given == "*":
            return None
        text = given.removeprefix("W/").strip('"')
        return int(text) if text.isdecimal() and len(text) < 19 else -1


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query or a header."""

    name: str
    where: str
    kind: Any
    about: str


@dataclass(frozen=True)
class Route:
    """One call of the HTTP interface."""

    method: str
    path: str
    name: str
    about: str
    handle: Callable[[Call], Awaitable[Answer]]
    answers: dict[int, tuple[str, Any]]  # status -> (what it says, the type or media type of its body)
    problems: dict[int, str] = field(default_factory=dict)
    body: Any = None
    media_types: tuple[str, ...] = (JSON,)
    parameters: tuple[Parameter, ...] = ()
    most_bytes: int = SMALL
    body_optional: bool = False
    tag: str = "pages"
    hot: bool = False  # called for every page view

    @cached_property
    def raw_media_types(self) -> set[bytes]:
        """As most callers send them, so that they need not be taken apart."""
        return {name.encode() for name in self.media_types}


IF_MATCH = Parameter("if-match", "header", str, "the ETag that was read; answered 412 when it is not the present one")
NOT_FOUND = {404: "no such page"}
STALE = {412: "changed since it was read: the If-Match header does not fit"}


def decode(decoder: "msgspec.json.Decoder[Body]", content: bytes) -> Body:
    """The body of a request, or the problem with it."""
    try:
        return decoder.decode(content)
    except RecursionError:
        raise Problem(400, "the body is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise of_decoding(error, decoder.type) from None


def checked_name(kind: Any, value: str) -> str:
    """A name out of the path, or 422."""
    try:
        return str(msgspec.convert(value, kind))
    except msgspec.ValidationError as error:
        raise Problem(422, f"{value!r} is not a name: {misfit(error, kind).line}") from None


def page_name(call: Call) -> str:
    """The page that the path names, as one that can be defined."""
    return checked_name(Name, call.path["page"])


def refuse(problems: list[tuple[str, str]]) -> None:
    """422, when there is something wrong."""
    if problems:
        raise Problem(422, problems[0][1], problems)
