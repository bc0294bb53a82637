"""What makes `--dev`, serving without keys, safe: only this machine, and no web page of elsewhere, is answered."""

from functools import lru_cache
from urllib.parse import urlsplit

from slotwise.checks import BadInput
from slotwise.service.http.problems import Problem

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FORWARDED = {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
_READS = ("GET", "HEAD", "OPTIONS")


def check_address(host: str) -> None:
    """Without keys the service listens on this machine only."""
    if host not in LOOPBACK:
        raise BadInput(f"--host {host}: without keys the service listens on {' or '.join(LOOPBACK)} only")


def check_request(method: str, headers: dict[bytes, bytes]) -> None:
    """403 for a request that a browser sent for another site, or that came by way of a proxy."""
    host = headers.get(b"host", b"").decode("latin-1")
    if _hostname(f"//{host}") not in LOOPBACK:
        raise Problem(403, f"the Host header {host[:100]!r} is not an address of this machine")
    if not _FORWARDED.isdisjoint(headers):
        name = min(_FORWARDED & headers.keys()).decode()
        raise Problem(403, f"the {name} header is refused: this service runs without keys, not behind a proxy")
    if method in _READS:
        return
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        raise Problem(403, "the Sec-Fetch-Site header says that another site asks")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2].lower() != host.lower():
        raise Problem(403, "the Origin header names another site")


@lru_cache(100)  # clients call by the same name again and again
def _hostname(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        return None if parts.username is not None or parts.path else parts.hostname
    except ValueError:
        return None
