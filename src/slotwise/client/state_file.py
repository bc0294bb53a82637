"""Export the counts of a page of a running service to a file, and import them from a file. The file may be large."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from slotwise.checks import BadInput
from slotwise.client.http_client import HttpClient, path_of
from slotwise.files import beside

CHUNK = 1 << 16  # bytes
NDJSON = "application/x-ndjson"
Report = Callable[[int, int], None]  # called with the number of bytes that are done, and of all bytes


def export_state(client: HttpClient, page: str, output: Path, report: Report) -> int:
    """Write the counts of a page to a file, and return the size of the file. If this fails, the file stays as it is."""
    done = 0
    with beside(output) as draft, draft.open("wb") as file:
        for chunk, size in client.download(path_of("pages", page, "state.ndjson")):
            file.write(chunk)
            done += len(chunk)
            report(done, size)
    return done


def import_state(client: HttpClient, page: str, file: Path, report: Report) -> None:
    """Replace all counts of a page by those in a file that `export_state` wrote."""
    try:
        with file.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            client.upload(path_of("pages", page, "state.ndjson"), _chunks(content, size, report), size, NDJSON)
    except OSError as error:
        raise BadInput(f"cannot read {str(file)!r}: {error.strerror}") from None


def _chunks(file: BinaryIO, size: int, report: Report) -> Iterator[bytes]:
    done = 0
    while chunk := file.read(CHUNK):
        yield chunk
        done += len(chunk)
        report(done, size)
