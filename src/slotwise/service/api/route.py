"""A route as data: its parameters, its responses and its handler. The OpenAPI document is made from the routes."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from slotwise.service.errors import Refused
from slotwise.service.history import Author, author_of
from slotwise.service.keys.api_keys import ApiKey, Scope
from slotwise.service.keys.session import Session
from slotwise.service.pages.limits import Identifier, ItemName, Name
from slotwise.service.preconditions import EXISTS, Precondition

if TYPE_CHECKING:
    from slotwise.service.service import Service

SMALL, LARGE, HUGE = 1 << 20, 32 << 20, 2 << 30  # limits of the size of a body, in bytes
JSON = "application/json"
MERGE_PATCH = (JSON, "application/merge-patch+json")  # media types of a patch
OPERATIONS = "operations"  # the tag of routes about the service itself
# versions of Azure Personalizer's interface; the calls that the service has are the same in all of them
PersonalizerVersion = Literal["v1.0", "v1.1-preview.1", "v1.1-preview.2", "v1.1-preview.3"]
PATH_TYPES: dict[str, Any] = {  # parameter -> type
    "page": Name,
    "item": ItemName,
    "layout": Name,
    "position": Name,
    "key": Name,
    "event": Identifier,
    "version": PersonalizerVersion,
    "digest": Identifier,
    "folder": Name,
    "file": Name,
}
Needs = Scope | Literal["open"]  # the scope that a call needs; "open" needs no key
Body = TypeVar("Body")


class Response(NamedTuple):
    """A response.

    Bytes are sent unchanged. An async generator of bytes is streamed. Any other content becomes JSON. If the route is
    `large`, the content may be a function that makes it on a background thread.
    """

    status: int
    content: Any = b""
    headers: Mapping[str, str] = MappingProxyType({})
    media_type: str = JSON


class Call(NamedTuple, Generic[Body]):
    """One validated request. `body` has the route's type, and declared query parameters have valid values.

    `key` is None in dev mode, for open routes, and if `refusal` is set. `refusal` is set only for routes that also
    accept tokens: the handler raises it unless tokens allow the request.
    """

    service: "Service"
    path: dict[str, str]
    query: dict[str, str]
    headers: dict[bytes, bytes]
    body: Body
    key: ApiKey | None = None
    refusal: Refused | None = None
    session: Session | None = None  # if the caller has signed in

    @property
    def author(self) -> Author:
        """The author of a change that the call makes."""
        return author_of(self.key)

    def if_match(self) -> Precondition | None:
        """The If-Match header, if there is one. An entry that is not one of our ETags matches no version.

        A weak ETag counts as a strong one, because proxies that compress responses weaken the ETags in them.
        """
        value = self.headers.get(b"if-match")
        if value is None:
            return None
        listed = [entry.strip() for entry in value.decode("latin-1").split(",")]
        if listed == ["*"]:
            return EXISTS
        texts = [entry.removeprefix("W/").strip('"') for entry in listed]
        return Precondition(frozenset(int(text) for text in texts if text.isdecimal() and len(text) < 19))


def etag(version: int) -> dict[str, str]:
    """The header with the ETag of a version. Clients send it back as `If-Match`."""
    return {"etag": f'"{version}"'}


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query or a header."""

    name: str
    where: str
    type: Any
    description: str


@dataclass(frozen=True)
class Route(Generic[Body]):
    """One operation of the HTTP interface."""

    method: str
    path: str
    name: str
    summary: str
    handle: Callable[[Call[Body]], Awaitable[Response]]
    responses: dict[int, tuple[str, Any]]  # status -> (description, type or media types of the body)
    problems: dict[int, str] = field(default_factory=dict)
    needs: Needs = field(kw_only=True)  # has no default, so that no route is open by mistake
    body: type[Body] | None = None
    media_types: tuple[str, ...] = (JSON,)
    parameters: tuple[Parameter, ...] = ()
    max_bytes: int = SMALL
    body_optional: bool = False  # without a body, the handler gets `body()`
    names_new: str = ""  # the path parameter that may name something new, so it must be a valid name
    has_etag: bool = False  # successful responses have an ETag header
    long_list: str = ""  # a field of the body with a list that may be long; a large body is decoded in pieces
    streamed: bool = False  # the body may be very large, so the handler gets it as an open file, and closes it
    large: bool = False  # the response may be large, so it is encoded on a background thread
    tag: str = "pages"
    checks_pages: bool = False  # the handler itself restricts a key that is bound to pages; see `key_access`
    accepts_tokens: bool = False  # without a sufficient key, the handler decides whether tokens allow the request
    personalizer: bool = (
        False  # the key may be sent, and errors have an object, as clients of Azure Personalizer expect
    )
    accepts_session: bool = False  # a person who has signed in may make the call without sending the key
    key_in_body: bool = False  # the key is the field `key` of the body
    web: bool = False  # for browsers: errors are pages, and the OpenAPI document does not list it
    hot: bool = False  # called for every page view, so the router tries it first


IF_MATCH = Parameter("if-match", "header", str, "the ETag that was read; 412 if it is not the current one")
NOT_FOUND = {404: "no such page"}
STALE = {412: "changed since it was read: the If-Match header is not the current ETag"}
