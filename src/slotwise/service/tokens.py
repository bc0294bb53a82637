"""Tokens. Each token identifies one display. With it, a client may report views and clicks for a limited time."""

import hmac
import math
import secrets
from binascii import b2a_base64
from hashlib import sha256
from typing import NamedTuple

from itsdangerous import Signer

ROTATE_SECONDS = 86400.0
KEEP_SECONDS = 32 * 86400.0  # longer than any click window plus the time in which a secret signs tokens
_BLOCK = 64  # bytes: the block size of SHA-256
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
Secrets = list[tuple[float, str]]  # (time of creation, secret), oldest first


class TokenClaims(NamedTuple):
    """The display that a token identifies."""

    display: str
    nonce: int
    page: int


class Tokens:
    """Signs with the newest secret, and accepts signatures of older secrets."""

    def __init__(self, secrets: Secrets) -> None:
        self._signers = [_Signer(secret) for _, secret in reversed(secrets)]

    def sign(self, claims: TokenClaims, until: float) -> str:
        """A token for this display that expires at `until`."""
        display, nonce, page = claims
        payload = f"{display}.{nonce:x}.{page:x}.{math.ceil(until):x}".encode()
        return (payload + b"." + self._signers[0].get_signature(payload)).decode()

    def read(self, token: str, now: float) -> TokenClaims | str:
        """The claims of a valid token, or the reason why it is not valid."""
        payload, _, signature = token.encode("utf-8", "replace").rpartition(b".")
        if not any(hmac.compare_digest(signer.get_signature(payload), signature) for signer in self._signers):
            return "the token was not issued by this service"
        display, nonce, page, until = payload.decode().rsplit(".", 3)
        if now > int(until, 16):
            return "the token has expired"
        return TokenClaims(display, int(nonce, 16), int(page, 16))


class _Signer(Signer):
    """The library's signer with HMAC-SHA256. It hashes the key once instead of for every token."""

    def __init__(self, secret: str) -> None:
        super().__init__(secret, key_derivation="none", digest_method=sha256)
        key = self.derive_key()
        key = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner, self._outer = (sha256(bytes(byte ^ pad for byte in key)) for pad in (0x36, 0x5C))  # RFC 2104

    def get_signature(self, value: str | bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(value if isinstance(value, bytes) else value.encode())
        outer.update(inner.digest())
        return b2a_base64(outer.digest(), newline=False).translate(_URL_SAFE, b"=")  # as the library encodes it


def rotate(known: Secrets, now: float) -> Secrets:
    """Add a secret if the newest one is a day old, and remove secrets that no valid token can use."""
    kept = [(created, secret) for created, secret in known if now - created < KEEP_SECONDS]
    if not kept or now - kept[-1][0] >= ROTATE_SECONDS:
        kept.append((now, secrets.token_urlsafe(32)))
    return kept
