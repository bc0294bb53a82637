"""Save and load files: versioned JSON, written atomically. Loading any other file raises a clear error."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from slotwise.checks import BadInput

Body = TypeVar("Body", bound=msgspec.Struct)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the content atomically."""
    with beside(path) as draft:
        draft.write_bytes(content)


@contextmanager
def beside(path: str | os.PathLike[str], private: bool = False) -> Iterator[Path]:
    """Yield a temporary file next to `path`, and finally rename it to `path`. So readers never see a partial file.

    If `private` is set, only the user who creates the file can read it.
    """
    target = _path(path)
    if not target.parent.is_dir():
        raise BadInput(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from None
    draft = Path(name)
    try:
        yield draft
        os.fsync(handle)
        if not private:
            draft.chmod(0o666 & ~_umask())  # mkstemp makes it private; a saved file has the usual permissions
        draft.replace(target)
        flush_folder(target.parent)
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from None
    finally:
        os.close(handle)
        draft.unlink(missing_ok=True)


def save_document(path: str | os.PathLike[str], kind: str, version: int, body: msgspec.Struct) -> None:
    """Save `body` as JSON with the kind and version of the format."""
    document = {"format": f"slotwise-{kind}", "version": version, "body": msgspec.to_builtins(body)}
    try:
        content = msgspec.json.encode(document)
    except (UnicodeEncodeError, OverflowError) as error:
        raise BadInput(f"cannot write {str(path)!r}: {error}") from None
    write_whole(path, content + b"\n")


def load_document(
    path: str | os.PathLike[str], kind: str, version: int, body: type[Body], oldest: int | None = None
) -> Body:
    """Load a file that `save_document` wrote, in this version or from the version `oldest` on.

    Any other file raises BadInput with the reason.
    """
    source = _path(path)
    file = repr(str(source))
    try:
        content = source.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    try:
        header = msgspec.json.decode(content, type=_Header)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file} is not a saved slotwise {kind}, or is damaged: {error}") from None
    if header.format != f"slotwise-{kind}":
        raise BadInput(f"{file} is a {header.format!r} file; a 'slotwise-{kind}' file is needed")
    if not (version if oldest is None else oldest) <= header.version <= version:
        raise BadInput(
            f"{file} has version {header.version} of the {kind} format; this slotwise reads version {version}"
        )
    try:
        return msgspec.json.decode(header.body, type=body)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise BadInput(f"{file} is a damaged slotwise {kind}: {error}") from None


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise BadInput(f"{path!r} is not the path of a file")
    return Path(path)


class _Header(msgspec.Struct):
    format: str
    version: int
    body: msgspec.Raw


def flush_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a new name of a file survives a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
