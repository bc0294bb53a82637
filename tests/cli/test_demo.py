"""`slotwise demo` as a user runs it, in a separate process."""

import contextlib
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotwise.client.address import ServiceAddress
from slotwise.client.sample import VISITORS
from slotwise.service.maintenance.verify import verify
from tests.command_line import COMMAND
from tests.waiting import HANG, wait_until


def answers(url: str) -> bool:
    address = ServiceAddress.of(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.host, address.port)) == 0


def wait_until_gone(url: str) -> None:
    """Wait until no process listens there."""
    wait_until(lambda: not answers(url))


def test_a_headless_demo_ends_by_itself_with_a_summary(slotwise_process, tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    options = ["--headless", "--rounds", "300", "--rate", "max", "--port", "0", "--store", f"sqlite:///{store}"]
    result = slotwise_process("demo", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    summary = result.stdout.splitlines()[-1]
    assert all(word in summary for word in ("300 rounds", "clicks", "regret", "at random"))
    (url,) = re.findall(r"(http://\S+)/docs", result.stdout)
    assert all(f"{url}/{page}\n" in result.stdout for page in ("demo", "dashboard"))
    wait_until_gone(url)
    verdict = verify(store)
    assert (verdict.displays, verdict.differences) == (300, [])


def test_a_port_in_use_is_replaced_by_a_free_one(slotwise_process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = slotwise_process("demo", "--headless", "--rounds", "10", "--rate", "max", "--port", str(port))
    assert result.exit_code == 0, result.stderr
    assert f"port {port} " in result.stdout.splitlines()[0]
    assert f":{port}/docs" not in result.stdout


def test_a_store_that_cannot_be_opened_gets_one_clear_line(slotwise_process, tmp_path: Path) -> None:
    result = slotwise_process("demo", "--headless", "--rounds", "10", "--store", f"sqlite:///{tmp_path}")
    result.assert_refused("store", str(tmp_path))


class Terminal:
    """The demo in its own terminal."""

    def __init__(self) -> None:
        self.output = ""
        self._screen, inside = pty.openpty()
        streams = {"stdin": inside, "stdout": inside, "stderr": inside}
        settings = os.environ | {"TERM": "xterm", "PYTHONUTF8": "1"}
        command = [*COMMAND, "demo", "--port", "0"]
        self.process = subprocess.Popen(command, **streams, start_new_session=True, env=settings)
        os.close(inside)

    def read_until(self, text: str) -> None:
        deadline = time.monotonic() + HANG
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            assert self._read(), self.output

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all processes in the terminal, as Ctrl-C does."""
        os.killpg(self.process.pid, number)

    def exit_code(self) -> int:
        while self._read():
            pass
        return self.process.wait()

    def url(self) -> str:
        return re.findall(r"(http://\S+)/docs", self.output)[0]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    def _read(self) -> bool:
        if select.select([self._screen], [], [], 1.0)[0]:
            try:
                self.output += os.read(self._screen, 65536).decode(errors="replace")
            except OSError:  # Linux raises this when the other end is closed
                return False
        return True


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal in which the demo has drawn its first live view."""
    with contextlib.closing(Terminal()) as terminal:
        terminal.read_until("(p99)")
        yield terminal


def test_in_a_terminal_it_draws_and_an_interrupt_ends_it(terminal: Terminal) -> None:
    assert answers(terminal.url())
    terminal.send(signal.SIGINT)
    assert terminal.exit_code() == 0
    assert all(text in terminal.output for text in ("clicks lost per round", "at random", "█"))
    assert "Traceback" not in terminal.output
    wait_until_gone(terminal.url())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_service_does_not_outlive_the_demo(terminal: Terminal, number: signal.Signals) -> None:
    terminal.send(number)
    assert terminal.exit_code() in (-number, 0)
    wait_until_gone(terminal.url())


def test_the_most_visible_position_of_the_demo_is_not_the_first() -> None:
    from slotwise.cli._parsing import choose_model

    model, _ = choose_model(None, None, None, VISITORS)
    assert model.kappa.argmax() != 0
    assert model.theta.argmax() != 0
