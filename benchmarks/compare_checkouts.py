"""Compare this checkout with another: `python -m benchmarks.compare_checkouts ../other --python PYTHON`.

The two alternate in one run, so that a slow phase of the machine affects both. Only public interfaces are used (names
that `slotwise` exports, the command line, HTTP), so that any two versions can be compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from benchmarks.epoll_client import encode_request, repeat, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from slotwise.paper.named_click_models import setting

Compared, Measured = TypeVar("Compared"), TypeVar("Measured")

LIMIT = 1.03  # this checkout / the other one
PROGRAM_TURNS, SERVICE_TURNS = 6, 10
CONNECTIONS, REQUESTS = 8, 4_000
BATCH, BATCHES, SENDERS = 100, 100, 16  # events
LOG_LINES = 3_000_000
SIMULATED = [(policy, name) for policy in ("pb_mhb", "slot_ts") for name in ("near-zero", "standard", "near-one")]
SIMULATED += [("bc_mpts", "standard"), ("uniform", "standard")]
RECOMMEND = encode_request("/v1/pages/shop/recommendations", b"{}")

IMPORT = """
import time
started = time.process_time()
import slotwise
slotwise.policies()
print(time.process_time() - started)
"""
SIMULATE = """
import json, sys
import slotwise as sw
policy, model = sys.argv[1], sw.PBM(**json.loads(sys.argv[2]))
sw.simulate(policy, model, rounds=1_000, runs=1, threads=1)  # compiles
print(min(sw.simulate(policy, model, rounds=100_000, runs=1, seed=k % 3, threads=1).microseconds for k in range(9)))
"""
COUNT = """
import sys, time
import slotwise as sw
sw.read_log(sys.argv[1], "kdd2012", {"min_shown": 0, "min_items": 1})  # loads Ibis and DuckDB
started = time.process_time()
sw.read_log(sys.argv[2], "kdd2012")
print(time.process_time() - started)
"""


class Checkout(NamedTuple):
    """A source tree, and a Python that has its dependencies."""

    root: Path
    python: Path

    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.root / "src")}

    def command(self, *arguments: str) -> str:
        """The output of Python when it is started with these arguments."""
        command = [str(self.python), *arguments]
        return subprocess.run(command, env=self.environment(), stdout=subprocess.PIPE, text=True, check=True).stdout

    def number(self, script: str, *arguments: str) -> float:
        return float(self.command("-c", script, *arguments))

    def serve(self, store: Path) -> RunningServer:
        """Start `slotwise serve`, with a page of 50 items and 5 positions."""
        serve = ["-m", "slotwise", "serve", "--dev", "--port", "0", "--store", f"sqlite:///{store}", "--seed", "1"]
        server = RunningServer([str(self.python), *serve], self.environment())
        server.define("shop", 50)
        return server


class Comparison(NamedTuple):
    """A measurement: a row for each turn, and a column for each checkout. The other checkout comes first."""

    what: str
    unit: str
    values: np.ndarray

    def row(self) -> Row:
        other, this = np.median(self.values, axis=0)
        ratio = float(np.median(self.values[:, 1] / self.values[:, 0]))
        return Row(f"{self.what} ({this:.4g} against {other:.4g} {self.unit})", ratio, "x", LIMIT)


def compare_programs(checkouts: list[Checkout]) -> Iterator[Comparison]:
    yield Comparison("import slotwise", "s", np.array(_alternate(checkouts, lambda checkout: checkout.number(IMPORT))))
    for policy, name in SIMULATED:
        model = setting(name)
        arguments = (SIMULATE, policy, json.dumps({"theta": list(model.theta), "kappa": list(model.kappa)}))
        values = _alternate(checkouts, lambda checkout, arguments=arguments: checkout.number(*arguments))
        yield Comparison(f"a round of simulate, {policy}, {name}", "us", np.array(values))
    with tempfile.TemporaryDirectory() as folder:
        few, log = str(Path(folder) / "few.txt"), str(Path(folder) / "log.txt")
        for path, lines in ((few, 1_000), (log, LOG_LINES)):
            checkouts[1].command(
                "-m", "slotwise", "logs", "synth", path, "--format", "kdd2012", "--lines", str(lines), "--quiet"
            )
        values = _alternate(checkouts, lambda checkout: checkout.number(COUNT, few, log))
        yield Comparison(f"counting a log of {LOG_LINES:,} lines", "s of the processor", np.array(values))


def compare_services(checkouts: list[Checkout]) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = []
        for k, checkout in enumerate(checkouts):
            servers.append(checkout.serve(Path(folder) / f"{k}.db"))
            stack.callback(servers[-1].end)
        for measure in (_recommend, _record_clicks):
            turns = _alternate(servers, measure, SERVICE_TURNS)
            for what in turns[0][0]:
                yield Comparison(what, "us", np.array([[measured[what] for measured in turn] for turn in turns]))


def _alternate(
    compared: list[Compared], measure: Callable[[Compared], Measured], turns: int = PROGRAM_TURNS
) -> list[list[Measured]]:
    """What `measure` returns for each of the two, in every turn. The first turn, which compiles, is left out.

    The order alternates: whatever is measured second finds the machine in another state, by up to 10 %.
    """
    first, second = compared
    rows = []
    for turn in range(turns + 1):
        if turn % 2:
            ours = measure(second)
            rows.append([measure(first), ours])
        else:
            rows.append([measure(first), measure(second)])
    return rows[1:]


def _recommend(server: RunningServer) -> dict[str, float]:
    before = server.processor_seconds()
    responses = send_requests(server.port, repeat(RECOMMEND, REQUESTS), CONNECTIONS)
    used = server.processor_seconds() - before
    return {
        "1 / throughput of recommendations": 1e6 / responses.rate,
        "processor time of the server for a recommendation": 1e6 * used / REQUESTS,
        "p50 of a recommendation": 1e3 * responses.quantile(0.5),
        "p99 of a recommendation": 1e3 * responses.quantile(0.99),
    }


def _record_clicks(server: RunningServer) -> dict[str, float]:
    """Send batches of clicks on displays that were just issued."""
    issued = send_requests(server.port, repeat(RECOMMEND, BATCH * BATCHES // 5), CONNECTIONS, keep_bodies=True).bodies
    clicks = [
        {"type": "click", "display": display["id"], "position": item["position"]}
        for display in map(json.loads, issued)
        for item in display["items"]
    ]
    batches = [clicks[k : k + BATCH] for k in range(0, len(clicks), BATCH)]
    requests = iter([encode_request("/v1/events", json.dumps({"events": batch}).encode()) for batch in batches])
    before = server.processor_seconds()
    responses = send_requests(server.port, lambda: next(requests, None), SENDERS)
    used = server.processor_seconds() - before
    return {
        "1 / throughput of durable clicks": 1e6 * responses.seconds / len(clicks),
        "processor time of the server for a durable click": 1e6 * used / len(clicks),
    }


def main() -> bool:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="a Python that has its dependencies")
    options = parser.parse_args()
    this = Checkout(Path(__file__).parents[1], Path(sys.executable))
    checkouts = [Checkout(options.other.resolve(), options.python.absolute()), this]
    rows = []
    for compare in (compare_programs, compare_services):
        for comparison in compare(checkouts):
            rows.append(comparison.row())
            print(f"{rows[-1].value:.3f}  {rows[-1].what}", file=sys.stderr, flush=True)
    return report("This checkout / another one", "compare", rows)


if __name__ == "__main__":
    sys.exit(not main())
