"""Keys: list, create, revoke and rotate them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from slotwise.service.api.route import Call, Response, Route
from slotwise.service.errors import Forbidden
from slotwise.service.keys.api_keys import ApiKey, NewKey, Scope
from slotwise.service.keys.key_changes import KeySpec, Rotation, create_key, revoke_key, rotate_key


class KeyView(Struct):
    """A key without its secret. Times are seconds since 1970. `last_used` is the start of an hour."""

    id: str
    name: str
    scopes: list[Scope]
    pages: list[str] | None
    origins: list[str]
    rate: float | None
    created: float
    expires: float | None
    revoked: float | None
    last_used: float | None
    status: Literal["active", "expired", "revoked"]


class KeyList(Struct):
    """All keys, oldest first."""

    keys: list[KeyView]


class CreatedKey(Struct):
    """The id of a new key, and the key itself. The service cannot show the key again."""

    id: str
    key: Annotated[str, Meta(description="send it as `Authorization: Bearer KEY`")]


async def list_keys(call: Call[None]) -> Response:
    """All keys, without their secrets."""
    keys = await call.service.store.read(lambda ledger: ledger.keys())
    now = call.service.clock()
    return Response(200, KeyList([view_key(key, now) for key in keys]))


async def post(call: Call[KeySpec]) -> Response:
    """Create a key."""
    _check_mode(call)
    now = call.service.clock()
    return _created(await call.service.change_keys(lambda ledger: create_key(ledger, call.body, now, call.author)))


async def delete(call: Call[None]) -> Response:
    """Revoke a key."""
    _check_mode(call)
    now = call.service.clock()
    await call.service.change_keys(lambda ledger: revoke_key(ledger, call.path["key"], now, call.author))
    return Response(204)


async def rotate(call: Call[Rotation]) -> Response:
    """Create a key with the same rights. The old one stays valid for a while."""
    _check_mode(call)
    id, overlap, now = call.path["key"], call.body.overlap, call.service.clock()
    return _created(await call.service.change_keys(lambda ledger: rotate_key(ledger, id, overlap, now, call.author)))


def view_key(key: ApiKey, now: float) -> KeyView:
    """What callers may see of a key."""
    pages = None if key.pages is None else list(key.pages)
    return KeyView(
        key.id, key.name, list(key.scopes), pages, list(key.origins), key.rate, key.created, key.expires, key.revoked,
        key.last_used, key.status(now),
    )  # fmt: skip


def _created(new: NewKey) -> Response:
    return Response(201, CreatedKey(new.key.id, new.secret))


def _check_mode(call: Call[Any]) -> None:
    """Every program on the machine can call a service in dev mode. A key from there could be used elsewhere later."""
    if call.key is None:
        raise Forbidden("in dev mode, keys are changed by `slotwise keys` on the store only")


_KEYS, _KEY = "/v1/keys", "/v1/keys/{key}"
_CREATED = {201: ("the new key, which is never shown again", CreatedKey)}
_NO_KEY = {404: "no such key"}
ROUTES = [
    Route(
        "GET", _KEYS, "list_keys", "List all keys, without their secrets.", list_keys, {200: ("the keys", KeyList)},
        tag="keys", needs="admin",
    ),
    Route("POST", _KEYS, "create_key", "Create a key.", post, _CREATED, {}, KeySpec, tag="keys", needs="admin"),
    Route(
        "DELETE", _KEY, "revoke_key", "Revoke a key.", delete, {204: ("revoked", None)}, _NO_KEY, tag="keys",
        needs="admin",
    ),
    Route(
        "POST", f"{_KEY}/rotate", "rotate_key", "Replace a key; the old one stays valid for a while.", rotate,
        _CREATED, {**_NO_KEY, 409: "the key is not active"}, Rotation, body_optional=True, tag="keys", needs="admin",
    ),
]  # fmt: skip
