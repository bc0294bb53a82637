"""Where a service is."""

from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from slotwise.checks import BadInput, shown

URL = "http://127.0.0.1:8000"


class Address(NamedTuple):
    """A service's address, taken apart."""

    url: str  # without a slash at its end
    host: str
    port: int
    secure: bool
    prefix: str  # of every path, when the service lives below another one

    @classmethod
    def of(cls, url: str) -> "Address":
        """Out of http://host:port or https://host."""
        try:
            parts = urlsplit(url.strip().rstrip("/"))
            port = parts.port
        except ValueError:
            raise BadInput(_WANTED.format(shown(url))) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise BadInput(_WANTED.format(shown(url)))
        secure = parts.scheme == "https"
        return cls(parts.geturl(), parts.hostname, port or (443 if secure else 80), secure, parts.path)

    @property
    def host_header(self) -> str:
        """As HTTP names the host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


_WANTED = "--url {} is not the address of a service, such as " + URL


def phrase(status: int) -> str:
    """A status with its words: 404 Not Found."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
