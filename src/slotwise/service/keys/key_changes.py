"""Create, revoke and rotate keys: operations on the keys of a store."""

from typing import Annotated

from msgspec import Meta, Struct

from slotwise.service.errors import Conflict, FieldError, NotFound, raise_field_errors
from slotwise.service.history import DEV, STORE, Author
from slotwise.service.keys.api_keys import DAY, ApiKey, NewKey, Scope, make_key, revoked, rotated
from slotwise.service.pages.limits import Name
from slotwise.service.store.ledger import KeyLedger

BROWSER_RATE = 100.0  # requests per second of a browser key for which no rate is given
OVERLAP = 7 * DAY  # how long a rotated key stays valid by default
_LONGEST = 36500 * DAY
Origin = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=r"^https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?$(?!\n)",
        description="scheme and host in lower case, and the port if it is not the usual one: https://shop.example",
    ),
]
_DESCRIBED = ("name", "scopes", "pages", "origins", "rate", "expires")  # what the history keeps of a new key
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class KeySpec(Struct, forbid_unknown_fields=True):
    """What a new key allows. Without `pages`, all pages. `lifetime` is in seconds, `rate` in requests per second."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=10)]
    pages: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    origins: Annotated[list[Origin], Meta(max_length=100)] = []
    rate: Annotated[float, Meta(ge=0.001, le=1e6)] | None = None
    lifetime: Annotated[float, Meta(ge=1, le=_LONGEST)] | None = None


class Rotation(Struct, forbid_unknown_fields=True):
    """For how many seconds the old key stays valid."""

    overlap: Annotated[float, Meta(ge=0, le=_LONGEST)] = OVERLAP


def create_key(ledger: KeyLedger, spec: KeySpec, now: float, author: Author = DEV) -> NewKey:
    """Create a key. Raises `DoesNotFit` if the fields contradict each other."""
    raise_field_errors(_contradictions(spec))
    rate = BROWSER_RATE if spec.rate is None and "browser" in spec.scopes else spec.rate
    pages = None if spec.pages is None else tuple(dict.fromkeys(spec.pages))
    scopes, origins = tuple(dict.fromkeys(spec.scopes)), tuple(dict.fromkeys(spec.origins))
    new = make_key(spec.name, scopes, now, pages, origins, rate, spec.lifetime)
    _add(ledger, new.key, now, author)
    return new


def revoke_key(ledger: KeyLedger, id: str, now: float, author: Author = DEV) -> ApiKey:
    """Revoke a key: it is not valid any more. Revoking it again changes nothing."""
    before = _find(ledger, id)
    key = revoked(before, now)
    if key is not before:
        ledger.save_key(key)
        ledger.record_change(STORE, author, now, "revoke_key", id, ({"revoked": None}, {"revoked": now}))
    return key


def rotate_key(ledger: KeyLedger, id: str, overlap: float, now: float, author: Author = DEV) -> NewKey:
    """Create a key with the same rights. The old one stays valid for `overlap` seconds, unless it expires before."""
    key = _find(ledger, id)
    if key.status(now) != "active":
        raise Conflict(f"key {id} is {key.status(now)}, so it cannot be rotated; create a new key")
    old, new = rotated(key, now, overlap)
    ledger.save_key(old)
    sides = {"expires": key.expires}, {"expires": old.expires, "replaced_by": new.key.id}
    ledger.record_change(STORE, author, now, "rotate_key", id, sides)
    _add(ledger, new.key, now, author)
    return new


def _add(ledger: KeyLedger, key: ApiKey, now: float, author: Author) -> None:
    ledger.save_key(key)
    described = {field: getattr(key, field) for field in _DESCRIBED}
    ledger.record_change(STORE, author, now, "create_key", key.id, (None, described))


def _find(ledger: KeyLedger, id: str) -> ApiKey:
    key = ledger.key(id)
    if key is None:
        raise NotFound(f"there is no key with the id {id!r}")
    return key


def _contradictions(spec: KeySpec) -> list[FieldError]:
    if "browser" not in spec.scopes:
        return [FieldError("/origins", "only a key with the scope browser has origins")] if spec.origins else []
    errors = []
    if set(spec.scopes) != {"browser"}:
        errors.append(FieldError("/scopes", "a key with the scope browser is public, so it has no other scope"))
    if spec.pages is None:
        errors.append(FieldError("/pages", "a key with the scope browser must name its pages"))
    if not spec.origins:
        errors.append(FieldError("/origins", "a key with the scope browser must name the origins of its web pages"))
    for k, origin in enumerate(spec.origins):
        port = _DEFAULT_PORTS[origin.partition(":")[0]]
        if origin.endswith(port):
            errors.append(
                FieldError(f"/origins/{k}", f"browsers leave out the usual port: {origin.removesuffix(port)}")
            )
    return errors
