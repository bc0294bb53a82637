"""`slotwise demo` as a newcomer runs it, in a process of its own."""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotwise.client.address import ServiceAddress
from slotwise.client.sample import VISITORS
from slotwise.service.verify import verify

COMMAND = [sys.executable, "-m", "slotwise", "demo"]
SECONDS = 60.0


def answers(url: str) -> bool:
    address = ServiceAddress.of(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.host, address.port)) == 0


def gone(url: str) -> bool:
    """Whether nobody listens there any more, within some seconds."""
    deadline = time.monotonic() + 20.0
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not answers(url)


def test_headless_it_ends_by_itself_with_a_summary(tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    options = ["--headless", "--rounds", "300", "--rate", "max", "--port", "0", "--store", f"sqlite:///{store}"]
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"demo: 300 rounds in .* clicks; regret .*, at random .*", lines[-1])
    (url,) = re.findall(r"(http://\S+)/docs", done.stdout)
    assert f"{url}/v1/pages/shop/insights" in done.stdout
    assert gone(url)
    verdict = verify(store)
    assert (verdict.displays, verdict.differences) == (300, [])


def test_a_port_that_is_taken_is_let_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ["--headless", "--rounds", "10", "--rate", "max", "--port", str(port)]
        done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert f"port {port} is taken, here is another one" in done.stdout
    assert f":{port}/docs" not in done.stdout


def test_a_store_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    options = ["--headless", "--rounds", "10", "--store", f"sqlite:///{tmp_path}"]
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the service did not start: cannot open the store")
    assert len(done.stderr.splitlines()) == 1


class Terminal:
    """The demo in a terminal of its own."""

    def __init__(self) -> None:
        self.shown = ""
        self._screen, inside = pty.openpty()
        streams = {"stdin": inside, "stdout": inside, "stderr": inside}
        settings = os.environ | {"TERM": "xterm", "PYTHONUTF8": "1"}
        self._demo = subprocess.Popen([*COMMAND, "--port", "0"], **streams, start_new_session=True, env=settings)
        os.close(inside)

    def read_until(self, words: str) -> None:
        deadline = time.monotonic() + SECONDS
        while words not in self.shown:
            assert time.monotonic() < deadline, self.shown
            self._read()

    def send(self, number: signal.Signals) -> None:
        """To all processes in the terminal, as Ctrl-C does."""
        os.killpg(self._demo.pid, number)

    def exit_code(self) -> int:
        while self._read():
            pass
        os.close(self._screen)
        return self._demo.wait()

    def url(self) -> str:
        return re.findall(r"(http://\S+)/docs", self.shown)[0]

    def _read(self) -> bool:
        if select.select([self._screen], [], [], 1.0)[0]:
            try:
                self.shown += os.read(self._screen, 65536).decode(errors="replace")
            except OSError:  # Linux says so when the other side has gone
                return False
        return True


def test_in_a_terminal_it_draws_and_an_interrupt_ends_it() -> None:
    terminal = Terminal()
    terminal.read_until("answered in")
    assert answers(terminal.url())
    terminal.send(signal.SIGINT)
    assert terminal.exit_code() == 0
    assert all(words in terminal.shown for words in ("clicks lost per round", "at random", "█", "has stopped"))
    assert "Traceback" not in terminal.shown
    assert gone(terminal.url())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_service_does_not_outlive_the_demo(number: signal.Signals) -> None:
    terminal = Terminal()
    terminal.read_until("answered in")
    terminal.send(number)
    assert terminal.exit_code() in (-number, 0)
    assert gone(terminal.url())


def test_the_visitors_do_not_see_in_reading_order() -> None:
    from slotwise.cli._parsing import model_of

    model, _ = model_of(None, None, None, VISITORS)
    assert model.kappa.argmax() != 0
    assert model.theta.argmax() != 0
