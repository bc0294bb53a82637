"""Addresses of this machine, and whether a request was sent to one."""

from functools import lru_cache
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def names_loopback(headers: dict[bytes, bytes]) -> bool:
    """Whether the Host header of a request is an address of this machine."""
    return _hostname(f"//{headers.get(b'host', b'').decode('latin-1')}") in LOOPBACK


@lru_cache(100)  # clients send the same Host header with every request
def _hostname(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        return None if parts.username is not None or parts.path else parts.hostname
    except ValueError:
        return None
