"""Sessions of people who have signed in with a key. A session is a signed cookie.

The cookie has the id of the key, not the key itself. A session allows what the key allows at the moment of a request,
so it ends with the key. The service stores only which sessions have ended early: see `ended_sessions`.
"""

import hmac
import secrets
from hashlib import sha256

from itsdangerous import BadData, URLSafeSerializer

from slotwise.service.keys.session import Session
from slotwise.service.tokens import Secrets

LIFETIME = 12 * 3600.0
SECURE_COOKIE, LOOPBACK_COOKIE = "__Host-slotwise", "slotwise"  # browsers keep the first one over HTTPS only
CSRF_HEADER = b"x-slotwise-session"
_SALT = "slotwise.session"  # so that no other signature of the same secrets is a session


class Sessions:
    """Signs sessions with the newest secret, and accepts signatures of older secrets."""

    def __init__(self, known: Secrets) -> None:
        listed = [secret for _, secret in known]
        self._serializer = URLSafeSerializer(listed, salt=_SALT, signer_kwargs={"digest_method": sha256})

    def start(self, key: str, now: float) -> Session:
        """A new session of the key with this id."""
        return Session(key, secrets.token_urlsafe(16), now + LIFETIME)

    def sign(self, session: Session) -> str:
        """The value of the cookie."""
        signed = self._serializer.dumps(list(session))
        return signed if isinstance(signed, str) else signed.decode()

    def read(self, value: str, now: float) -> Session | None:
        """The session of a cookie, or None if the cookie is not valid or has expired."""
        try:
            session = Session(*self._serializer.loads(value))
        except (BadData, TypeError, ValueError):
            return None
        return session if now < session.until else None


def proves(session: Session, header: bytes) -> bool:
    """Whether the header of a request shows that it comes from a page of this session."""
    return hmac.compare_digest(session.proof.encode(), header)


def cookie_value(header: bytes) -> str | None:
    """The session in a Cookie header. The cookie that only HTTPS can set comes first."""
    found: dict[str, str] = {}
    for pair in header.decode("latin-1").split(";"):
        name, _, value = pair.strip().partition("=")
        found.setdefault(name, value)
    return found.get(SECURE_COOKIE) or found.get(LOOPBACK_COOKIE)


def set_cookie(value: str, is_secure: bool) -> str:
    """The Set-Cookie header of a session. An empty value deletes the cookie."""
    name = SECURE_COOKIE if is_secure else LOOPBACK_COOKIE
    age = int(LIFETIME) if value else 0
    return f"{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict" + ("; Secure" if is_secure else "")
