"""`slotwise top`: a live view of a running service."""

import time
from typing import Annotated

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._service_options import ServiceOptions


@app.command(epilog=options.examples("slotwise top --once", "slotwise top --once --json"))
@options.with_option_group
def top(
    service: ServiceOptions,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two views.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show one view, and exit.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show what a running service does: pages, rates, click rates, latencies, the store and the ensembles."""
    import msgspec
    from rich.live import Live

    from slotwise.cli._top_view import render
    from slotwise.client.http_client import Unreachable
    from slotwise.client.service_view import ServiceWatch

    with service.client() as client:
        watch = ServiceWatch(client)
        time.sleep(every)
        if as_json:
            while True:
                print(msgspec.json.encode(watch.view()).decode(), flush=True)
                if once:
                    return
                time.sleep(every)
        if once:
            console.stdout.print(render(watch.view()))
            return
        with Live(render(watch.view()), console=console.stdout, auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(every)
                try:
                    live.update(render(watch.view()), refresh=True)
                except Unreachable as error:  # the service may be restarting
                    live.update(str(error), refresh=True)
