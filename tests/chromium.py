"""A headless Chromium that a test controls over two pipes, through its debugging protocol. No driver is needed."""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANG

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
# Chromium reads commands from descriptor 3 and writes to 4; the detour over high numbers keeps them apart
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 203), os.dup2(int(sys.argv[2]), 204), os.dup2(203, 3), os.dup2(204, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str:
    """The path of the browser; without one, the test is skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("chromium is not installed, so nothing is clicked in a real browser")
    return path


class Chromium:
    """A browser with one open page. The end of a `with` block ends it."""

    def __init__(self, profile: Path) -> None:
        commands_out, self._commands = os.pipe()
        self._messages, messages_in = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(commands_out), str(messages_in)]
        browser = [find_chromium(), *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        fds = (commands_out, messages_in)
        self._process = subprocess.Popen([*launch, *browser], pass_fds=fds, stderr=subprocess.DEVNULL)
        for fd in fds:
            os.close(fd)
        self.requests: list[dict[str, Any]] = []  # that the page has sent
        self._buffer, self._number, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._commands)  # the browser ends with its pipe
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._messages)

    def call(self, method: str, **params: Any) -> Any:
        """Send a command, and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next_message()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, url: str) -> None:
        """Open an address, and wait until it is loaded."""
        self.call("Page.navigate", url=url)
        while self._next_message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        box = self.evaluate(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)

    def _next_message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            readable, _, _ = select.select([self._messages], [], [], HANG)
            assert readable, "the browser does not answer"
            chunk = os.read(self._messages, 1 << 16)
            assert chunk, "the browser has ended"
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"])
        return message
