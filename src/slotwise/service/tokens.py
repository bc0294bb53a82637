"""Tokens: each names one display, and lets its bearer say that the display was viewed or clicked, for a time."""

import hmac
import math
import secrets
from hashlib import sha256
from typing import NamedTuple

from itsdangerous import Signer
from itsdangerous.encoding import base64_encode

ROTATE_SECONDS = 86400.0
KEEP_SECONDS = 32 * 86400.0  # longer than any click window, and than a secret signs
_BLOCK = 64  # bytes that SHA-256 takes at a time
Secrets = list[tuple[float, str]]


class Named(NamedTuple):
    """What a token says."""

    display: str
    nonce: int
    page: int


class Tokens:
    """Signs with the newest secret, and knows what older ones signed."""

    def __init__(self, known: Secrets) -> None:
        self._signers = [_Signer(secret) for _, secret in reversed(known)]

    def sign(self, named: Named, until: float) -> str:
        """A token for this display that expires at `until`."""
        return self._signers[0].sign(f"{named.display}.{named.nonce:x}.{named.page:x}.{math.ceil(until):x}").decode()

    def read(self, token: str, now: float) -> Named | str:
        """What the token says; when it is not to be believed, why."""
        said, _, signature = token.encode("utf-8", "replace").rpartition(b".")
        if not any(hmac.compare_digest(signer.get_signature(said), signature) for signer in self._signers):
            return "the token is not one of this service"
        display, nonce, page, until = said.decode().rsplit(".", 3)
        if now > int(until, 16):
            return "the token has expired"
        return Named(display, int(nonce, 16), int(page, 16))


class _Signer(Signer):
    """The library's signer with HMAC-SHA256, whose key is hashed once and not anew for every token."""

    def __init__(self, secret: str) -> None:
        super().__init__(secret, key_derivation="none", digest_method=sha256)
        key = self.derive_key()
        key = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner, self._outer = (sha256(bytes(byte ^ pad for byte in key)) for pad in (0x36, 0x5C))  # RFC 2104

    def get_signature(self, value: str | bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(value if isinstance(value, bytes) else value.encode())
        outer.update(inner.digest())
        return base64_encode(outer.digest())


def rotated(known: Secrets, now: float) -> Secrets:
    """The secrets to have now: a new one when the newest has served its day, none that outlived every token."""
    kept = [(made, secret) for made, secret in known if now - made < KEEP_SECONDS]
    if not kept or now - kept[-1][0] >= ROTATE_SECONDS:
        kept.append((now, secrets.token_urlsafe(32)))
    return kept
