"""The lock of a store's file. It gives the store one owner, and the operating system releases it if the owner crashes.

On Linux, the lock is on the database file itself, so it holds for every name of the file. On other systems, it is on
a file beside it, because there `flock` conflicts with the locks of SQLite.
"""

import fcntl
import os
import re
import stat
import sys
from errno import EWOULDBLOCK
from pathlib import Path

from slotwise.checks import BadInput

NETWORK_FILE_SYSTEMS = frozenset([
    "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs",
])  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")
_PRIVATE = 0o600  # a store has the secrets that sign tokens
_owned: set[tuple[int, int]] = set()  # device and inode of each file that this process has locked


class StoreInUse(BadInput):
    """Another process owns the store."""


class FileLock:
    """A lock that its owner holds until `release`."""

    def __init__(self, path: Path) -> None:
        """Lock a file, and create it if it does not exist. Raises BadInput if another owner has locked it."""
        self.path = Path(os.path.realpath(path))  # a store has one lock, even if several symbolic links point to it
        check_file(self.path)
        try:
            self._lock()
        except OSError as error:
            raise BadInput(f"cannot open the store {str(path)!r}: {error.strerror}") from None

    def release(self) -> None:
        """Release the lock. No connection of this process to the file may be open.

        Closing a descriptor of a file releases the locks that SQLite has on this file in the same process.
        """
        if self._identity in _owned:
            _owned.remove(self._identity)
            os.close(self._descriptor)

    def _lock(self) -> None:
        target = self.path if sys.platform == "linux" else self.path.with_name(self.path.name + ".lock")
        while True:
            if target.exists() and _identity(target.stat()) in _owned:
                raise self._in_use()  # without opening it: closing it again would release SQLite's locks
            self._descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
            try:
                self._flock()
                self._identity = _identity(os.fstat(self._descriptor))
                if target.exists() and _identity(target.stat()) == self._identity:
                    break
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)  # the file was replaced before it was locked, so lock the new one
        _owned.add(self._identity)

    def _flock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == EWOULDBLOCK:
                raise self._in_use() from None
            raise BadInput(f"cannot lock the store {str(self.path)!r}: {error.strerror}; use a local disk") from None

    def _in_use(self) -> StoreInUse:
        return StoreInUse(f"the store {str(self.path)!r} is in use by another process; stop that process first")


def check_file(path: Path) -> None:
    """Raise BadInput for a file that SQLite or a lock cannot protect. A file that does not exist yet is allowed."""
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise BadInput(f"cannot open the store {str(path)!r}: {error.strerror}") from None
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise BadInput(f"cannot open the store {str(path)!r}: it is not a file")
    if status is not None and status.st_nlink > 1:
        raise BadInput(
            f"the store {str(path)!r} has {status.st_nlink} hard links, and SQLite would keep a write-ahead log for "
            "each name; delete all names except one"
        )
    kind = file_system_of(path, _MOUNTS.read_text() if _MOUNTS.exists() else "")
    if kind in NETWORK_FILE_SYSTEMS:
        raise BadInput(
            f"the store {str(path)!r} is on a network file system ({kind}), which cannot protect it from a second "
            "writer; use a local disk"
        )


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system that a path is on, such as ext4. `mounts` has the form of /proc/self/mountinfo."""
    found, longest = "", -1
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mount.split()[4]))
        if len(point.parts) >= longest and Path(os.path.realpath(path)).is_relative_to(point):
            found, longest = source.split()[0], len(point.parts)
    return found


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
