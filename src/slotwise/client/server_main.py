"""A service that lives as long as whoever started it: it stops when its standard input ends, however that happens."""

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
    """Serve the store on the port that the arguments name, with a seed."""
    store, port, seed = sys.argv[1:]
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        asyncio.run(serve(Path(store), HOST, int(port), lambda line: print(line, flush=True), seed=int(seed)))
    except BadInput as error:
        sys.exit(str(error))
    exit_if_busy()


def _stop_with_parent() -> None:
    """The other end of the pipe is held by the parent alone: also kill -9 closes it."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
