"""Where a service listens: a port, or a Unix domain socket."""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.service.http.access.forwarding import TrustedProxies
from slotwise.service.http.tls import CertificateFiles

BACKLOG = 1024  # connections that wait to be accepted


class Network(NamedTuple):
    """Where a service listens, and which proxies it trusts."""

    host: str = "127.0.0.1"
    port: int = 8000
    uds: Path | None = None  # instead of the port
    uds_mode: int = 0o660
    tls: CertificateFiles | None = None
    proxies: TrustedProxies | None = None
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None


def bind(host: str, port: int, option: str = "--port") -> socket.socket:
    """A listening socket on this port. Port 0 selects a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol of the socket is given; without it, small responses are delayed
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (TypeError, UnicodeError):
        listener.close()
        raise BadInput(f"cannot listen on {host!r}: this is neither an address nor the name of a host") from None
    except OSError as error:
        listener.close()
        hint = f"; {option} 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
        raise BadInput(f"cannot listen on {host} port {port}: {error.strerror}{hint}") from None
    return listener


@contextmanager
def bound_unix_socket(path: Path, mode: int) -> Iterator[socket.socket]:
    """A listening Unix domain socket with these permissions. The file is removed at the end.

    A socket that a process left behind when it crashed is replaced. Raises BadInput if the path is in use.
    """
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)  # not chmod: no other user may connect before the permissions are set
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise BadInput(f"cannot listen on {path}: {error.strerror or error}") from None
    finally:
        os.umask(before)
    ours = path.stat().st_ino
    try:
        with listener:
            yield listener
    finally:
        with suppress(OSError):
            if path.stat().st_ino == ours:  # another service may have replaced it
                path.unlink()


def _remove_stale(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise BadInput(f"cannot listen on {path}: there is a file that is not a socket")
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"cannot listen on {path}: {error.strerror}") from None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        except OSError as error:
            raise BadInput(f"cannot listen on {path}: {error.strerror}") from None
        else:
            raise BadInput(f"cannot listen on {path}: another process listens there")


def address_of(listener: socket.socket, is_tls: bool = False) -> str:
    """The address of a listening socket, as a URL."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port, *_ = listener.getsockname()
    return f"{'https' if is_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
