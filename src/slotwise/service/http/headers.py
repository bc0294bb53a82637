"""The headers of a request as a dictionary. Names are in lower case, as uvicorn delivers them."""

from collections.abc import Sequence

from slotwise.service.http.problems import Problem

_SINGLE = {  # a second value would contradict the first, and a proxy in front may have checked another one than we do
    b"authorization",
    b"content-type",
    b"host",
    b"ocp-apim-subscription-key",
    b"origin",
    b"sec-fetch-site",
    b"traceparent",
    b"x-request-id",
}


def header_values(pairs: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The value of each header. Repeated headers are joined, or raise 400 if only one value is allowed."""
    headers = dict(pairs)
    if len(headers) < len(pairs):  # few requests repeat a header
        headers = {}
        for name, value in pairs:
            if name in headers and name in _SINGLE:
                raise Problem(400, f"the {name.decode()} header is given more than once")
            headers[name] = headers[name] + b", " + value if name in headers else value
    return headers
