"""The main module of a service process that stops with its parent, that is, when its standard input is closed."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

from slotwise.checks import BadInput
from slotwise.service.background import exit_if_busy
from slotwise.service.http.server import serve

HOST = "127.0.0.1"


def main() -> None:
    """Serve a store. The arguments are its path, the port and the seed."""
    store, port, seed = sys.argv[1:]
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        asyncio.run(serve(Path(store), HOST, int(port), lambda line: print(line, flush=True), seed=int(seed)))
    except BadInput as error:
        sys.exit(str(error))
    exit_if_busy()


def _stop_with_parent() -> None:
    """Stop when standard input is closed.

    Only the parent holds the other end, so even kill -9 of the parent closes it.
    """
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
