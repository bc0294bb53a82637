"""Headers with which a proxy says that it forwards a request.

No list of them can be complete, because a proxy need not add any header. So finding none proves nothing.
"""

from collections.abc import Iterable

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
