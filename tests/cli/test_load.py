"""`slotwise load`; tests/client/load has the tests of the load generator."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.command_line import COMMAND
from tests.service.running_service import Process
from tests.waiting import HANG, wait_until

MODEL = ["--theta", ".1,.9,.5,.3", "--kappa", ".4,1"]


def test_it_creates_a_page_and_reports(service: Process, page: str, slotwise, tmp_path: Path) -> None:
    chart = tmp_path / "curve.svg"
    command = ["load", "--url", service.address, "--page", page, *MODEL, "--rounds", "200", "--rate", "max"]
    slotwise(*command).assert_refused(f"'{page}'")
    result = slotwise(*command, "--create", "--chart", str(chart))
    assert (result.exit_code, result.stderr) == (0, "")
    words = ("200 rounds", "p99.9", "recommendations", "events", "regret", "at random", str(chart))
    assert all(word in result.stdout for word in words)
    assert "clicks lost per round" in chart.read_text()
    answer = slotwise(*command, "--create", "--json", "--delay", "10").json()  # an existing page is used as it is
    assert (answer["rounds"], answer["delay"], answer["rate"]) == (200, 10, None)
    assert answer["learning_curve"][-1]["round"] == 200
    assert answer["regret"] == pytest.approx(sum(point["regret"] for point in answer["learning_curve"]))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--rate", "fast"], ["--rate = 'fast'", "max"]),
        (["--rate", "0"], ["--rate = '0'"]),
        (["--rate", "nan"], ["--rate = 'nan'"]),
        (["--rounds", "0"], ["--rounds = '0'", "at least 1"]),
        (["--delay", "-1"], ["--delay = -1", "at least 0"]),
        (["--setting", "q11"], ["'q11'"]),
        (["--chart", "curve.gif"], ["'curve.gif'", ".svg"]),
        (["--url", "nowhere"], ["--url", "'nowhere'"]),
        (["--url", "http://127.0.0.1:9"], ["http://127.0.0.1:9", "connection refused"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_input_gets_one_clear_line(arguments: list[str], named: list[str], slotwise) -> None:
    slotwise("load", *arguments).assert_refused(*named)


def test_an_interrupted_load_still_reports(service: Process, page: str) -> None:
    command = [*COMMAND, "load", "--url", service.address, "--page", page, "--create", "--rounds", "1e9"]
    load = subprocess.Popen([*command, "--rate", "100", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: service.http.get(f"/v1/pages/{page}/state").json().get("displays", 0) >= 50)
    load.send_signal(signal.SIGINT)
    stdout, stderr = load.communicate(timeout=HANG)
    assert (load.returncode, stderr) == (130, b"")
    answer = json.loads(stdout)
    assert answer["stopped"]
    assert answer["rounds"] >= 50
    assert answer["event_statuses"] == {"accepted": answer["clicks"]}  # also those that waited for their round
