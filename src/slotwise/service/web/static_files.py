"""Static files of the web pages: style sheets, ES modules and pictures.

Their address contains a digest of all of them, so browsers keep them for good, and modules find each other by relative
paths. An address with another digest is that of another version, and there is no such file.
"""

import mimetypes
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from slotwise.service.api.route import OPERATIONS, Call, Response, Route
from slotwise.service.errors import NotFound

FOLDER = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}
# A site may load these files, so they carry a header that lets only pages of this service embed them.
_HEADERS = MappingProxyType({**IMMUTABLE, "cross-origin-resource-policy": "same-origin"})


class StaticFiles(NamedTuple):
    """The content of all files by their path, such as `shared/base.css`, and a digest of all of them."""

    version: str
    contents: dict[str, bytes]


@cache
def static_files() -> StaticFiles:
    """All static files. They are read once."""
    paths = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    contents = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}
    digest = sha256()
    for name, content in contents.items():
        digest.update(name.encode() + b"\0" + sha256(content).digest())
    return StaticFiles(digest.hexdigest()[:16], contents)


def static_address(path: str) -> str:
    """The address of a static file, for templates. Raises KeyError if there is no such file."""
    files = static_files()
    if path not in files.contents:
        raise KeyError(f"there is no static file {path}")
    return f"/static/{files.version}/{path}"


def media_type(path: str) -> str:
    """The media type of a static file."""
    suffix = Path(path).suffix
    return _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")


async def get(call: Call[None]) -> Response:
    """Send one file."""
    version, path = call.path["digest"], f"{call.path['folder']}/{call.path['file']}"
    files = static_files()
    if version != files.version or path not in files.contents:
        raise NotFound("there is no such file in this version")
    return Response(200, files.contents[path], _HEADERS, media_type(path))


ROUTES: list[Route[None]] = [
    Route(
        "GET", "/static/{digest}/{folder}/{file}", "static", "A static file of the web pages.", get,
        {200: ("the file", "text/plain")}, {404: "no such file"}, tag=OPERATIONS, needs="open", web=True,
    ),
]  # fmt: skip
