"""`python -m benchmarks.http_regret [50 | 500]`: the regret of pages over HTTP, relative to that of `simulate`.

Every page is one run: visitors of the setting `standard` ask a real service for displays, at a steady rate, and their
clicks arrive 100 rounds later. Many pages of one service play at once, so that 20 runs of 20,000 rounds take minutes. A
second service makes each ensemble ten times as slowly and rests ten times as long after it. Its visitors draw the same
random numbers, and play at the same time. `simulate` has the same policy and delay, and 20 times as many runs. If a
rate cannot be kept, the rate that was reached is reported.

If the rates are kept, 50 displays per second take 7 minutes, and 500 take 4 minutes.
"""

import asyncio
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

import slotwise as sw
from benchmarks.epoll_client import encode_request, receive_body
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from slotwise.checks import Floats
from slotwise.paper.named_click_models import setting
from slotwise.service.ensembles import ensemble_refresher
from slotwise.service.http.server import serve
from slotwise.service.settings import Settings

SETTING, POLICY = "standard", "slot_ts"
RUNS, ROUNDS, DELAY = 20, 20_000, 100
SIMULATED_RUNS = 400
SLOWER = 10.0
PAGES_AT_ONCE = {50: 20, 500: 4}  # by displays per second and page
MOST, MOST_SLOW = 1.10, 1.15  # regret, relative to `simulate`
CLICK_SENDERS = 64  # connections; a commit can take 100 ms, and clicks are answered after it, but displays do not wait


class Recommended(msgspec.Struct):
    position: str
    item: str


class Answer(msgspec.Struct):
    token: str
    items: list[Recommended]


decode_answer = msgspec.json.Decoder(Answer).decode


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Visitors:
    """The visitors of some pages of one service. In each round, every page gets one visitor."""

    def __init__(self, server: RunningServer, model: sw.PBM, runs: range) -> None:
        self._model, self._runs = model, runs
        self._best = model.expected_clicks(model.best_display())
        for run in runs:
            positions = [str(k) for k in range(model.kappa.size)]
            server.call("PUT", f"/v1/pages/run-{run}", {"positions": positions, "policy": POLICY})
            items = [{"item": str(k)} for k in range(model.theta.size)]
            server.call("POST", f"/v1/pages/run-{run}/items:batch", {"items": items})
        self._connections = [connect(server.port) for _ in runs]
        self._requests = [encode_request(f"/v1/pages/run-{run}/recommendations", b"{}") for run in runs]
        self._rngs = [np.random.default_rng([1, run]) for run in runs]
        self._port = server.port
        self._senders = deque[socket.socket]()  # opened when needed; all of them wait for an answer
        self._clicks: deque[list[dict[str, str]]] = deque()
        self.regret = np.zeros(len(runs))

    def ask(self) -> None:
        for connection, request in zip(self._connections, self._requests, strict=True):
            connection.sendall(request)

    def finish_round(self) -> None:
        """Receive the displays, and send the clicks of the round that was `DELAY` rounds ago."""
        clicks = []
        for k, connection in enumerate(self._connections):
            answer = decode_answer(receive_body(connection))
            display = np.full(self._model.kappa.size, -1)
            for shown in answer.items:
                display[int(shown.position)] = int(shown.item)
            chances = self._model.theta[display] * self._model.kappa
            self.regret[k] += self._best - chances.sum()
            for position in np.flatnonzero(self._rngs[k].random(chances.size) < chances).tolist():
                clicks.append({"type": "click", "token": answer.token, "position": str(position)})
        self._clicks.append(clicks)
        if len(self._clicks) > DELAY and (due := self._clicks.popleft()):
            self._send(due)

    def _send(self, clicks: list[dict[str, str]]) -> None:
        if len(self._senders) < CLICK_SENDERS:
            sender = connect(self._port)
        else:
            sender = self._senders.popleft()
            receive_body(sender)
        sender.sendall(encode_request("/v1/events", msgspec.json.encode({"events": clicks})))
        self._senders.append(sender)

    def close(self) -> None:
        for sender in self._senders:
            receive_body(sender)
            sender.close()
        for connection in self._connections:
            connection.close()


class Played(NamedTuple):
    """The regret of every run with refreshes as usual and slower ones, and the displays per second and page."""

    usual: Floats
    slow: Floats
    rate: float


def play(rate: int) -> Played:
    """Let all runs play at this rate, as many at once as one machine can serve."""
    model, at_once = setting(SETTING), PAGES_AT_ONCE[rate]
    regret: list[list[Floats]] = [[], []]
    seconds = 0.0
    with served() as usual, served(SLOWER) as slow:
        for first in range(0, RUNS, at_once):
            runs = range(first, min(first + at_once, RUNS))
            groups = [Visitors(server, model, runs) for server in (usual, slow)]
            seconds += _play_rounds(groups, rate, f"{rate}/s, runs {runs.start} to {runs.stop - 1}")
            for kept, visitors in zip(regret, groups, strict=True):
                kept.append(visitors.regret)
                visitors.close()
    return Played(np.concatenate(regret[0]), np.concatenate(regret[1]), ROUNDS * -(-RUNS // at_once) / seconds)


def _play_rounds(groups: list[Visitors], rate: int, what: str) -> float:
    """Play all rounds, and return the seconds that they took. A late round does not make the next ones come faster."""
    began = due = time.perf_counter()
    for done in range(1, ROUNDS + 1):
        for visitors in groups:
            visitors.ask()
        for visitors in groups:
            visitors.finish_round()
        due = max(due + 1.0 / rate, time.perf_counter())
        time.sleep(max(0.0, due - time.perf_counter()))
        if done % 2_000 == 0:
            means = ", ".join(f"{visitors.regret.mean():.1f}" for visitors in groups)
            print(f"{what}: {done:,} rounds, mean regret {means}", file=sys.stderr, flush=True)
    return time.perf_counter() - began


@contextmanager
def served(slower: float = 1.0) -> Iterator[RunningServer]:
    """A service whose refreshes are slower by this factor."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store.db")
        server = RunningServer([sys.executable, "-m", "benchmarks.http_regret", "--serve", str(slower), store])
        try:
            yield server
        finally:
            server.end()


def slow_down(factor: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Make every batch of ensembles take longer by this factor. The rest after it grows too."""
    run_jobs = ensemble_refresher._run_jobs

    def run_slowly(*arguments: object) -> ensemble_refresher._BatchResult:
        result = run_jobs(*arguments)  # type: ignore[arg-type]
        sleep((factor - 1.0) * result.seconds)
        return result._replace(seconds=factor * result.seconds)

    ensemble_refresher._run_jobs = run_slowly


def compare(rate: int, simulated: Floats) -> list[Row]:
    usual, slow, reached = play(rate)
    return [
        Row(f"{rate}/s: displays per second and page that were reached", reached, "/s"),
        *compared(f"{rate}/s", usual, slow, simulated),
    ]


def compared(rate: str, usual: Floats, slow: Floats, simulated: Floats) -> list[Row]:
    """The regrets with refreshes as usual and slower ones, relative to those of `simulate`."""
    base = simulated.mean()
    own_error = simulated.std(ddof=1) / np.sqrt(simulated.size) / base

    def row(what: str, regret: Floats, limit: float) -> Row:
        error = np.hypot(regret.std(ddof=1) / np.sqrt(regret.size) / base, own_error * regret.mean() / base)
        return Row(
            f"{rate}, {what} ({regret.mean():.1f}, s.e. of the ratio {error:.3f})", regret.mean() / base, "x", limit
        )

    gap = slow - usual
    error = gap.std(ddof=1) / np.sqrt(gap.size) / base
    return [
        row("regret / simulate", usual, MOST),
        row(f"refreshes {SLOWER:g} times slower: regret / simulate", slow, MOST_SLOW),
        Row(f"{rate}, slower - usual, same visitors (s.e. {error:.3f})", gap.mean() / base, "of simulate"),
    ]


def simulate_many() -> Floats:
    """The regret of each of many simulated runs."""
    result = sw.simulate(POLICY, setting(SETTING), rounds=ROUNDS, runs=SIMULATED_RUNS, seed=1, delay=DELAY)
    return np.asarray(result.regret)[:, -1]


def row_of_simulated(simulated: Floats) -> Row:
    error = simulated.std(ddof=1) / np.sqrt(simulated.size)
    return Row(f"simulate, {SIMULATED_RUNS:,} runs (s.e. {error:.2f})", simulated.mean(), "clicks lost")


def main(rates: list[int]) -> bool:
    simulated = simulate_many()
    rows = [row_of_simulated(simulated)]
    for rate in rates:
        rows += compare(rate, simulated)
    return report(
        f"Regret over HTTP after {ROUNDS:,} rounds, {RUNS} runs, clicks {DELAY} rounds late", "http_regret", rows
    )


if __name__ == "__main__":
    if "--serve" in sys.argv:
        slow_down(float(sys.argv[-2]))
        settings = Settings(store=f"sqlite:///{sys.argv[-1]}", dev=True, port=0)
        asyncio.run(serve(settings, lambda line: print(line, flush=True)))
    else:
        sys.exit(not main([int(text) for text in sys.argv[1:]] or list(PAGES_AT_ONCE)))
