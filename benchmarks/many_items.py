"""Time and memory of fitting click models to sessions with a million items. Each fit runs in a separate process."""

import json
import subprocess
import sys

import numpy as np

from benchmarks.logs import Stopwatch
from benchmarks.measure import Row, report

ITEMS, SESSIONS, POSITIONS = 1_000_000, 1_000_000, 4
MODELS = ("pbm", "cascade", "dcm", "sdbn", "dbn")


def measure_here(model: str, items: int, sessions: int) -> dict[str, float]:
    """Fit visitors of a dependent click model. An item is in 4 displays on average, and some are in many more."""
    import importlib

    from slotwise.logs.sessions import QuerySessions

    rng = np.random.default_rng(0)
    displays = (items * rng.random((sessions, POSITIONS)) ** 2).astype(np.int64)
    attraction = rng.beta(1.0, 5.0, items)
    clicks, looks = np.zeros(displays.shape, bool), np.ones(sessions, bool)
    for k in range(POSITIONS):
        clicks[:, k] = looks & (rng.random(sessions) < attraction[displays[:, k]])
        looks &= ~(clicks[:, k] & (rng.random(sessions) < 0.5))
    names = [str(k) for k in range(items)]
    fold, number = np.zeros(sessions, np.int64), np.ones(sessions)
    log = QuerySessions("q", names, [str(k) for k in range(POSITIONS)], displays, clicks, fold, number)
    fit = importlib.import_module(f"slotwise.inference.click_models.{model}").fit
    fit(log.rows(np.arange(100))._replace(items=names[:items]), 0.5)  # compiles it before the measurement
    clock = Stopwatch()
    fit(log, 0.5)
    return clock.stop()


def measure(model: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.many_items", model, str(ITEMS), str(SESSIONS)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def main() -> bool:
    rows = []
    for model in MODELS:
        found = measure(model)
        rows.append(Row(f"{model}, processor time", found["processor"], "s"))
        rows.append(Row(f"{model}, peak memory", found["peak"], "MB"))
    return report(f"fits of {SESSIONS / 1e6:g} million sessions with {ITEMS / 1e6:g} million items", "many_items", rows)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    else:
        sys.exit(not main())
