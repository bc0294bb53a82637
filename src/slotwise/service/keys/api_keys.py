"""API keys: their format, what the store keeps of them, and how they are created, rotated and revoked.

A key is `sw_`, 32 random characters and a checksum of 6. The checksum finds typing errors without the store, and lets
secret scanners recognise a key. The store keeps only the SHA-256 digest. A slow hash would add nothing, because a key
has 190 random bits.
"""

import math
import secrets
import string
from hashlib import sha256
from typing import Literal, NamedTuple, get_args
from zlib import crc32

import msgspec
from msgspec import Struct

Scope = Literal["serve", "feedback", "read", "admin", "browser"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "sw_"
DAY = 86400.0
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM, _CHECKSUM = 32, 6  # characters; 62^6 is more than the 2^32 values of the CRC
_LENGTH = len(PREFIX) + _RANDOM + _CHECKSUM
_ID_BYTES = 6


class ApiKey(Struct, frozen=True):
    """What the store keeps of a key. Times are seconds since 1970."""

    id: str
    digest: bytes
    name: str
    scopes: tuple[Scope, ...]
    pages: tuple[str, ...] | None  # None allows all pages
    origins: tuple[str, ...]
    rate: float | None  # requests per second on each node; None sets no limit
    created: float
    expires: float | None = None
    revoked: float | None = None
    last_used: float | None = None  # the start of an hour

    @property
    def ends(self) -> float:
        """The time from which on the key is not valid."""
        times = [time for time in (self.expires, self.revoked) if time is not None]
        return min(times, default=math.inf)

    def status(self, now: float) -> Literal["active", "expired", "revoked"]:
        if self.revoked is not None and now >= self.revoked:
            return "revoked"
        return "expired" if self.expires is not None and now >= self.expires else "active"


class NewKey(NamedTuple):
    """A key that was just created. Only here is the secret known."""

    key: ApiKey
    secret: str

    def __repr__(self) -> str:
        return f"NewKey({self.key.id})"  # a log or a traceback must not contain the secret


def make_secret() -> str:
    """A new random key."""
    text = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return text + _checksum(text.encode())


def is_well_formed(secret: bytes) -> bool:
    """Whether this has the form of a key, and its checksum is right."""
    body = secret[:-_CHECKSUM]
    return (
        len(secret) == _LENGTH
        and body.startswith(PREFIX.encode())
        and body[len(PREFIX) :].isalnum()
        and _checksum(body).encode() == secret[-_CHECKSUM:]  # anybody can compute it, so it is no secret
    )


def digest_of(secret: bytes) -> bytes:
    """The digest that the store keeps of a key."""
    return sha256(secret).digest()


def make_key(
    name: str,
    scopes: tuple[Scope, ...],
    now: float,
    pages: tuple[str, ...] | None = None,
    origins: tuple[str, ...] = (),
    rate: float | None = None,
    lifetime: float | None = None,
) -> NewKey:
    """A new key. `lifetime` is in seconds; None means that the key never expires."""
    expires = None if lifetime is None else now + lifetime
    return _with_new_secret(ApiKey("", b"", name, scopes, pages, origins, rate, now, expires))


def revoked(key: ApiKey, now: float) -> ApiKey:
    """The key, revoked from now on. A key that was revoked before keeps its time."""
    return key if key.revoked is not None else msgspec.structs.replace(key, revoked=now)


def rotated(key: ApiKey, now: float, overlap: float) -> tuple[ApiKey, NewKey]:
    """The key, which expires after `overlap` seconds, and a new key with the same rights and the same lifetime."""
    expires = now + overlap if key.expires is None else min(key.expires, now + overlap)
    lifetime = None if key.expires is None else now + key.expires - key.created
    successor = msgspec.structs.replace(key, created=now, expires=lifetime, last_used=None)
    return msgspec.structs.replace(key, expires=expires), _with_new_secret(successor)


def _with_new_secret(key: ApiKey) -> NewKey:
    secret = make_secret()
    identified = {"id": secrets.token_hex(_ID_BYTES), "digest": digest_of(secret.encode())}
    return NewKey(msgspec.structs.replace(key, **identified), secret)


def _checksum(body: bytes) -> str:
    number, characters = crc32(body), []
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[digit])
    return "".join(reversed(characters))
