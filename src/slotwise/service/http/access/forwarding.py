"""Headers with which a proxy says that it forwards a request, and which proxies are trusted to say so.

No list of these headers can be complete, because a proxy need not add any. So finding none proves nothing.
"""

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from slotwise.checks import BadInput

_NAMES = {
    b"cdn-loop",
    b"client-ip",
    b"forwarded",
    b"front-end-https",
    b"proxy-client-ip",
    b"true-client-ip",
    b"via",
    b"wl-proxy-client-ip",
    b"x-arr-log-id",
    b"x-arr-ssl",
    b"x-client-ip",
    b"x-cloud-trace-context",
    b"x-cluster-client-ip",
    b"x-nginx-proxy",
    b"x-original-forwarded-for",
    b"x-original-host",
    b"x-original-url",
    b"x-proxy-id",
    b"x-real-ip",
    b"x-remote-addr",
    b"x-remote-ip",
    b"x-request-start",
    b"x-rewrite-url",
    b"x-varnish",
}
_PREFIXES = (
    b"cf-",  # Cloudflare
    b"cloudfront-",
    b"fastly-",
    b"fly-",
    b"x-akamai-",
    b"x-amz-cf-",  # CloudFront
    b"x-amzn-",  # load balancers of AWS
    b"x-appengine-",
    b"x-azure-",
    b"x-envoy-",  # Envoy, Istio
    b"x-forwarded",  # X-Forwarded-For, -Host, -Port, -Prefix, -Proto, -Server, ...
    b"x-goog-",
    b"x-nf-",  # Netlify
    b"x-vercel-",
)


def forwarding_header(names: Iterable[bytes]) -> bytes | None:
    """The first of these names, in lower case, that only a proxy adds. None if there is no such name."""
    return next((name for name in names if name in _NAMES or name.startswith(_PREFIXES)), None)


class TrustedProxies:
    """Proxies whose X-Forwarded-For and X-Forwarded-Proto headers count, by their networks."""

    def __init__(self, text: str) -> None:
        """`text` lists networks, such as `10.0.0.0/8,::1`. The word `unix` stands for the Unix domain socket."""
        words = [word.strip() for word in text.split(",")]
        self._unix = "unix" in words
        try:
            self._networks = [ip_network(word) for word in words if word != "unix"]
        except ValueError as error:
            raise BadInput(f"--trust-proxy {text}: {error}; right is 10.0.0.0/8,::1 or unix") from None

    def trusts(self, address: str | None) -> bool:
        """Whether requests from this address come through a trusted proxy. None is the Unix domain socket."""
        if address is None:
            return self._unix
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        parsed = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(parsed in network for network in self._networks)

    def client(self, forwarded_for: bytes) -> str | None:
        """The address of the client: the last one that is not a trusted proxy. None if there is no valid one.

        Each proxy appends the address that it sees. What comes before was sent by the client, who may have made it up.
        """
        for entry in reversed(forwarded_for.decode("latin-1").split(",")):
            address = _without_port(entry.strip())
            try:
                ip_address(address)
            except ValueError:
                return None
            if not self.trusts(address):
                return address
        return None


def _without_port(entry: str) -> str:
    """The address in an entry. Some proxies write 10.1.2.3:51234, [2001:db8::1] or [2001:db8::1]:51234."""
    if entry.startswith("["):
        address, _, port = entry[1:].partition("]")
        return address if not port or _is_port(port.removeprefix(":")) else entry
    address, _, port = entry.partition(":")
    return address if _is_port(port) else entry  # in an IPv6 address, more colons follow


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5
