"""`slotwise demo`: a service, a small shop and its simulated visitors in one command."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.checks import integer_at_least
from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.cli._parsing import choose_model, parse_rate, parse_whole_number
from slotwise.cli._run_load import print_report, run_load
from slotwise.cli._service_options import KEY_VARIABLE
from slotwise.extras import require

if TYPE_CHECKING:
    from slotwise.clickmodels.pbm import PBM
    from slotwise.client.page_file import PageFile

HEADLESS_ROUNDS = 10_000


@app.command(epilog=options.examples("slotwise demo", "slotwise demo --rounds 5000 --headless"))
def demo(
    rounds: Annotated[str | None, typer.Option(help="Number of page views; by default it runs until Ctrl-C.")] = None,
    rate: Annotated[str, typer.Option(help="Page views per second, or max.")] = "200",
    delay: options.ClickDelay = 100,
    seed: Annotated[int, typer.Option(help="Seed of the visitors and of the service.")] = 0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; if it is taken, a free one is used.")
    ] = 8000,
    store: Annotated[
        str | None,
        typer.Option(help="Store to keep, as sqlite:///PATH; by default a temporary one is deleted at the end."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            envvar=KEY_VARIABLE,
            show_envvar=False,
            help=f"Admin key of --store, or the variable {KEY_VARIABLE}: the service then requires keys.",
        ),
    ] = None,
    headless: Annotated[
        bool,
        typer.Option("--headless", help="Show no live view; end after the rounds (10,000 by default) with a summary."),
    ] = False,
) -> None:
    """Run the service with a small shop and simulated visitors, and watch it learn. Ctrl-C ends it."""
    require("service", "slotwise demo")
    from slotwise.client.server_process import ServerProcess

    length = parse_whole_number("--rounds", rounds) if rounds else HEADLESS_ROUNDS if headless else None
    pace, late, seeded = (
        parse_rate(rate),
        integer_at_least("--delay", delay, least=0),
        integer_at_least("--seed", seed, least=0),
    )
    key = key if store else None  # a temporary store has no keys
    with _open_store(store) as path, ServerProcess(path, port, seeded, "keys" if key else "demo") as server:
        with console.status("starting the service", headless):
            from slotwise.client.demo.shop_load import open_shop  # takes a second or two, while the service starts

            shop, truth = _read_sample()
            url = server.url()
        _print_addresses(url, port, has_shop=not key)
        with console.status("starting the service", headless) as show:
            server.wait_until_ready(url, show)
        generator, link = open_shop(url, key, shop, truth, seeded, rounds=length, rate=pace, delay=late)
        report = run_load(generator, headless, None if key else link.run)
        if headless:
            console.print_line(f"demo: {report.summary()}")
        else:
            print_report(report, "simulated visitors")
        if not report.stopped and not headless:
            _wait_for_interrupt(url)
    if not headless:
        console.stderr.print("the demo is over, its service has stopped")


def _read_sample() -> "tuple[PageFile, PBM]":
    """The page of the shop, and the click model of its visitors."""
    from slotwise.client.demo.shop_load import read_shop
    from slotwise.client.sample import VISITORS

    return read_shop(), choose_model(None, None, None, VISITORS)[0]


def _print_addresses(url: str, port: int, has_shop: bool) -> None:
    if port and not url.endswith(f":{port}"):
        console.print_line(f"port {port} is taken; the service uses another one")
    if has_shop:
        console.print_line(f"the shop           {url}/demo")
    console.print_line(f"dashboard          {url}/dashboard")
    console.print_line(f"HTTP interface     {url}/docs")
    console.print_line(f"in a terminal      slotwise pages show shop --url {url}")


def _wait_for_interrupt(url: str) -> None:
    """Keep the service running after the last round, so that the user can look at it."""
    from slotwise.client.load.generator import run_until_interrupted

    interrupted = asyncio.Event()

    async def wait() -> None:
        # not earlier: a Ctrl-C before the signal handlers are set would end the event loop while it starts
        console.print_line(f"all rounds are done; the service keeps running at {url} until Ctrl-C")
        await interrupted.wait()

    run_until_interrupted(wait, interrupted.set)


@contextmanager
def _open_store(url: str | None) -> Iterator[Path]:
    from slotwise.service.store.sqlite.sqlite_store import path_of

    if url is not None:
        yield path_of(url)
        return
    with tempfile.TemporaryDirectory(prefix="slotwise-demo-") as folder:
        yield Path(folder) / "shop.db"
