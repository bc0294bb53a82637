"""The main module of a service process. It stops when its standard input is closed, that is, when its parent ends."""

import asyncio
import os
import signal
import sys
import threading

from slotwise.checks import BadInput

HOST = "127.0.0.1"


def main() -> None:
    """Serve a store. The command-line arguments are the path of the store, the port, the seed and the mode."""
    from slotwise.service.background_threads import (
        exit_if_busy,  # here, because the parent imports this file too, for HOST
    )
    from slotwise.service.http.server import serve
    from slotwise.service.settings import Settings
    from slotwise.service.web.demo.shop import DemoShop

    store, port, seed, mode = sys.argv[1:]
    routes = DemoShop().routes if mode == "demo" else []
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        settings = Settings(store=f"sqlite:///{store}", dev=mode != "keys", host=HOST, port=int(port), seed=int(seed))
        asyncio.run(serve(settings, lambda line: print(line, flush=True), routes))
    except BadInput as error:
        sys.exit(str(error))
    exit_if_busy()


def _stop_with_parent() -> None:
    """Stop when standard input is closed.

    Only the parent holds the other end of the pipe, so standard input is closed even if the parent is killed.
    """
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
