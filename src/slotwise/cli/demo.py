"""`slotwise demo`: a service, a small shop and its visitors, all at once."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.checks import whole
from slotwise.cli import _console as console
from slotwise.cli._parsing import model_of, whole_text
from slotwise.cli.load import play, rate_of, show


@console.app.command(epilog="Example: slotwise demo --rounds 5000 --headless")
def demo(
    rounds: Annotated[str | None, typer.Option(help="How many page views; without end by default.")] = None,
    rate: Annotated[str, typer.Option(help="Page views per second, or max.")] = "200",
    delay: Annotated[int, typer.Option(help="Send each click this many rounds late.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the visitors and the service.")] = 0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; a free one if it is taken.")
    ] = 8000,
    store: Annotated[
        str | None, typer.Option(help="sqlite:///PATH keeps what is learnt; by default all is thrown away at the end.")
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="No picture; end after the rounds (10,000 by default) with a summary.")
    ] = False,
) -> None:
    """Run the service with a small shop whose visitors are simulated, and watch it learn. Ctrl-C ends it."""
    from slotwise.client.server_process import ServerProcess

    length = whole_text("--rounds", rounds) if rounds else 10_000 if headless else None
    pace, late, seeded = rate_of(rate), whole("--delay", delay, least=0), whole("--seed", seed, least=0)
    with _store(store) as path, ServerProcess(path, port, seeded) as server:
        url = server.url()
        with console.errors.status("starting the service; the first time its kernels are compiled, for a minute"):
            server.wait_until_ready(url)
        job = _visit(url, length, pace, late, seeded)
        _tell(url, port)
        report = play(job, headless)
        if headless:
            console.screen.print(f"demo: {report.summary()}", highlight=False, soft_wrap=True)
        else:
            show(report, "simulated visitors")
        if not report.stopped and not headless:
            _wait(url)
    if not headless:
        console.errors.print("the demo is over, its service has stopped")


def _visit(url: str, rounds: int | None, rate: float | None, delay: int, seed: int) -> Any:
    """The shop on the service, and a load of its visitors."""
    from slotwise.client import pages
    from slotwise.client.apply import apply
    from slotwise.client.http_client import HttpClient
    from slotwise.client.load.generator import LoadGenerator, LoadPlan
    from slotwise.client.load.visitors import Visitors
    from slotwise.client.page_file import read_page
    from slotwise.client.sample import SHOP, VISITORS

    truth, _ = model_of(None, None, None, VISITORS)
    with HttpClient(url) as remote:
        file = read_page(SHOP)
        apply(remote, file)
        face = pages.outline(pages.fetch_existing_page(remote, file.page))
        return LoadGenerator(
            remote.address, Visitors(truth, *face, seed), LoadPlan(file.page, rounds, rate, delay=delay)
        )


def _tell(url: str, port: int) -> None:
    lines = [
        f"the service        {url}/docs",
        f"what it has learnt {url}/v1/pages/shop/insights",
        f"in a terminal      slotwise pages show shop --url {url}",
    ]
    if port and not url.endswith(f":{port}"):
        lines.insert(0, f"port {port} is taken, here is another one")
    for line in lines:
        console.screen.print(line, highlight=False, soft_wrap=True)


def _wait(url: str) -> None:
    """The service stays, to be looked at, until Ctrl-C."""
    from slotwise.client.load.generator import run_until_interrupted

    line = f"the visitors have gone; the service stays on {url} until Ctrl-C"
    console.screen.print(line, highlight=False, soft_wrap=True)
    over = asyncio.Event()
    run_until_interrupted(over.wait, over.set)


@contextmanager
def _store(given: str | None) -> Iterator[Path]:
    from slotwise.service.store.sqlite import path_of

    if given is not None:
        yield path_of(given)
        return
    with tempfile.TemporaryDirectory(prefix="slotwise-demo-") as folder:
        yield Path(folder) / "shop.db"
