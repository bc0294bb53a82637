"""`slotwise serve`: the online service."""

import asyncio
from typing import Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.extras import require


@app.command(epilog=options.examples("slotwise serve --dev --store sqlite:///shop.db --port 8000"))
def serve(
    store: options.Store = "sqlite:///slotwise.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    refresh_share: Annotated[
        float,
        typer.Option(min=0.01, max=1.0, help="Share of one core that may be used to make ensembles of draws."),
    ] = 0.5,
    memory: Annotated[
        int, typer.Option(min=1, help="MB for pages in memory; pages that were not used for longest leave it.")
    ] = 4000,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed, for tests: the same requests, sent one after another, get the same displays. "
            "Random by default.",
        ),
    ] = None,
    dev: Annotated[bool, typer.Option("--dev", help="Serve without keys, to this machine only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar while it compiles.")] = False,
) -> None:
    """Recommend displays over HTTP, and learn from the clicks."""
    require("service", "slotwise serve")
    from slotwise.service.background_threads import exit_if_busy
    from slotwise.service.http.access import check_address
    from slotwise.service.http.server import serve as run
    from slotwise.service.service import Resources
    from slotwise.service.store.sqlite import path_of

    if dev:
        check_address(host)
    with console.compile_bar(quiet):
        asyncio.run(
            run(
                path_of(store),
                host,
                port,
                lambda line: print(line, flush=True),
                seed=seed,
                resources=Resources(refresh_share, 1e6 * memory),
                dev=dev,
            )
        )
    exit_if_busy()
