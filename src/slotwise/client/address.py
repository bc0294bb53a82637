"""The address of a service."""

from typing import NamedTuple
from urllib.parse import urlsplit

from slotwise.checks import BadInput, format_value

URL = "http://127.0.0.1:8000"


class ServiceAddress(NamedTuple):
    """The URL of a service, split into its components."""

    url: str  # without a trailing slash
    host: str
    port: int
    secure: bool
    prefix: str  # the start of every path, for a service behind a proxy: /learn

    @classmethod
    def of(cls, url: str) -> "ServiceAddress":
        """Parse http://host:port or https://host/prefix."""
        try:
            parsed = urlsplit(url.strip().rstrip("/"))
            port = parsed.port
        except ValueError:
            raise _invalid(url) from None
        if parsed.scheme not in ("http", "https") or not parsed.hostname or parsed.query or parsed.fragment:
            raise _invalid(url)
        secure = parsed.scheme == "https"
        return cls(parsed.geturl(), parsed.hostname, port or (443 if secure else 80), secure, parsed.path)

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _invalid(url: str) -> BadInput:
    return BadInput(f"--url {format_value(url)} is not the address of a service, such as {URL}")
