"""The script that reports clicks and views from web pages."""

import gzip
from pathlib import Path

from slotwise.service.api.route import OPERATIONS, Call, Response, Route

TRACKER = Path(__file__).parent / "tracker" / "tracker.js"
_plain = TRACKER.read_bytes()
_compressed = gzip.compress(_plain, mtime=0)
_HEADERS = {
    "cache-control": "public, max-age=3600",
    "cross-origin-resource-policy": "cross-origin",  # also for pages that are isolated from other origins
    "vary": "Accept-Encoding",
}
_COMPRESSED_HEADERS = {**_HEADERS, "content-encoding": "gzip"}


async def get(call: Call[None]) -> Response:
    """The script, compressed if the browser accepts that."""
    if b"gzip" in call.headers.get(b"accept-encoding", b""):
        return Response(200, _compressed, _COMPRESSED_HEADERS, _MEDIA_TYPE)
    return Response(200, _plain, _HEADERS, _MEDIA_TYPE)


_MEDIA_TYPE = "text/javascript; charset=utf-8"
ROUTES = [
    Route(
        "GET", "/tracker.js", "tracker", "The script that reports clicks and views from web pages.", get,
        {200: ("the script", "text/javascript")}, tag=OPERATIONS, needs="open",
    )
]  # fmt: skip
