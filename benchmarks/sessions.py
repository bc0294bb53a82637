"""Time and peak memory of reading the sessions of a log, relative to counting the same log for position-based models.

The log has displays of 5 positions with clicks of a cascade. The lines of a display follow each other, or are shuffled.
Each measurement runs in a separate process, so that it has its own peak memory. The two contenders alternate, so that a
slow phase of the machine affects both.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.logs import Stopwatch
from benchmarks.measure import Row, report

LINES, POSITIONS, ITEMS, QUERIES = 20_000_000, 5, 10, 8
BATCH = 200_000  # displays
TURNS = 3


def write_log(path: Path, kind: str, shuffled: bool = False) -> None:
    """Displays of random items. With `shuffled`, their lines are in random order within a batch."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    writer = None
    for begin in range(0, LINES // POSITIONS, BATCH):
        items = rng.random((BATCH, ITEMS)).argsort(axis=1)[:, :POSITIONS]
        attracted = rng.random(items.shape) < 0.05 + 0.03 * items
        clicked = attracted & (np.cumsum(attracted, axis=1) == 1)
        display = np.repeat(np.arange(begin, begin + BATCH), POSITIONS)
        order = rng.permutation(display.size) if shuffled else np.arange(display.size)
        table = pa.table(
            {
                "query": pa.array((display % QUERIES)[order]).cast("string"),
                "display": pa.array(display[order]).cast("string"),
                "item": pa.array(items.ravel()[order]).cast("string"),
                "position": np.tile(np.arange(1, POSITIONS + 1), BATCH)[order],
                "clicked": clicked.ravel()[order].astype(np.int64),
            }
        )
        if writer is None:
            writer = (
                pa.parquet.ParquetWriter(path, table.schema)
                if kind == "parquet"
                else pa.csv.CSVWriter(path, table.schema, write_options=pa.csv.WriteOptions(quoting_style="none"))
            )
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measure_here(contender: str, path: str) -> dict[str, float]:
    from slotwise.logs.read_log import read_log
    from slotwise.logs.read_sessions import read_sessions

    clock = Stopwatch()
    if contender == "counts":
        return {"clicks": sum(float(query.counts.clicks.sum()) for query in read_log(path).queries)} | clock.stop()
    return {"clicks": sum(float(q.query().counts.clicks.sum()) for q in read_sessions(path).queries)} | clock.stop()


def measure(contender: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.sessions", contender, str(path)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def main() -> bool:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, shuffled in (("csv", False), ("parquet", False), ("csv", True)):
            path, log = Path(folder) / f"sessions.{kind}", f"{kind}{', shuffled' * shuffled}"
            write_log(path, kind, shuffled)
            pairs = [(measure("counts", path), measure("sessions", path)) for _ in range(TURNS)]
            path.unlink()
            assert len({each["clicks"] for pair in pairs for each in pair}) == 1
            limit = 2.0 if log == "csv" else None
            for name, words in (("wall", "wall clock"), ("processor", "processor time")):
                ratio = float(np.median([sessions[name] / counts[name] for counts, sessions in pairs]))
                rows.append(Row(f"sessions / counts, {log}, {words}", ratio, "x", limit))
            speed = LINES / 1e6 / float(np.median([sessions["wall"] for _, sessions in pairs]))
            rows.append(Row(f"sessions, {log}", speed, "million lines/s"))
            rows.append(Row(f"peak memory of sessions, {log}", max(each["peak"] for _, each in pairs), "MB", 2_000))
    return report(f"sessions, {LINES / 1e6:g} million lines of {POSITIONS} positions", "sessions", rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure_here(sys.argv[1], sys.argv[2])))
    else:
        sys.exit(not main())
