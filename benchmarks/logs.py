"""Time and peak memory of counting a log in the KDD Cup 2012 format, relative to plain DuckDB SQL for the same counts.

Each measurement runs in a separate process, so that it has its own peak memory. The two contenders alternate, so that a
slow phase of the machine affects both.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, report
from slotwise.logs.kdd2012 import LINES, NAMES
from slotwise.logs.synthetic import synth
from slotwise.logs.synthetic_traffic import ZipfTraffic

SIZES = (5_000_000, 20_000_000)
QUERIES = 1_000_000
TURNS = 5


def plain_sql(path: str) -> dict[str, float]:
    """Plain DuckDB SQL: the same counts and the paper's selection of queries, without checks of the lines."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET memory_limit = '1GB'; SET preserve_insertion_order = false; SET enable_progress_bar = false")
    database.execute(f"SET temp_directory = '{Path(path).parent}'")
    numbers = ("Click", "AdID", "Position", "QueryID")
    columns = ", ".join(f"'{name}': '{'BIGINT' if name in numbers else 'VARCHAR'}'" for name in NAMES)
    options = "delim = '\t', quote = '', header = false, auto_detect = false"
    items = "SELECT QueryID, AdID FROM cells WHERE shown >= 1000 GROUP BY ALL HAVING count(*) = 3"
    queries = f"SELECT QueryID FROM ({items}) GROUP BY ALL HAVING count(*) >= 5"
    clock = Stopwatch()
    database.execute(
        "CREATE TABLE cells AS "
        "SELECT QueryID, AdID, Position, count(*) AS shown, count(*) FILTER (Click > 0) AS clicked "
        f"FROM read_csv('{path}', columns = {{{columns}}}, {options}) GROUP BY ALL"
    )
    selected = database.execute(
        f"SELECT * FROM cells SEMI JOIN ({items}) USING (QueryID, AdID) SEMI JOIN ({queries}) USING (QueryID)"
    ).fetchall()
    return clock.stop() | {"cells": len(selected), "clicks": sum(row[4] for row in selected)}


def ours(path: str) -> dict[str, float]:
    from slotwise.inference.fit_queries import fit_queries
    from slotwise.logs.read_log import read_log

    sample = Path(path).with_suffix(".few")
    with Path(path).open() as lines:
        sample.write_text("".join(islice(lines, 1_000)))
    clock = Stopwatch()
    read_log(str(sample), "kdd2012", {"min_shown": 0, "min_items": 1})  # imports Ibis, which is measured separately
    first_time = clock.stop()["wall"]
    clock = Stopwatch()
    log = read_log(path, "kdd2012")
    measured = clock.stop() | {"first_time": first_time}
    measured["queries"] = len(log.queries)
    measured["cells"] = sum(query.counts.clicks.size for query in log.queries)
    measured["clicks"] = float(sum(query.counts.clicks.sum() for query in log.queries))
    fit_queries(log.queries[:1], "svd")  # compiles it before the measurement
    clock = Stopwatch()
    fit_queries(log.queries, "svd")
    return measured | {"svd": clock.stop()["wall"]}


class Stopwatch:
    """Wall-clock and processor seconds, and the peak memory of the process in MB."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def stop(self) -> dict[str, float]:
        wall, processor = time.perf_counter() - self._wall, time.process_time() - self._processor
        return {"wall": wall, "processor": processor, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def measure_once(contender: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.logs", contender, str(path)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def measure(path: Path, lines: int, turns: int) -> list[Row]:
    sql_rows, our_rows = [], []
    for _ in range(turns):
        sql_rows.append(measure_once("plain_sql", path))
        our_rows.append(measure_once("ours", path))
    for name in ("cells", "clicks"):
        assert {row[name] for row in sql_rows} == {row[name] for row in our_rows}

    def median(rows: list[dict[str, float]], name: str) -> float:
        return float(np.median([row[name] for row in rows]))

    def median_ratio(name: str) -> float:
        return float(np.median([a[name] / b[name] for a, b in zip(our_rows, sql_rows, strict=True)]))

    lines_per_second, size = lines / median(our_rows, "wall"), f"{lines / 1e6:g} million lines"
    large = lines == max(SIZES)
    rows = [
        Row(f"counting / plain DuckDB SQL, {size}, wall clock", median_ratio("wall"), "x", 1.3 if large else None),
        Row(
            f"counting / plain DuckDB SQL, {size}, processor time",
            median_ratio("processor"),
            "x",
            1.3 if large else None,
        ),
        Row(f"counting, {size}", lines_per_second / 1e6, "million lines/s"),
        Row("counting 1,000 lines, the first time in a process", median(our_rows, "first_time"), "s"),
        Row(f"peak memory, {size}", max(row["peak"] for row in our_rows), "MB", 2_000),
        Row(f"peak memory of plain DuckDB SQL, {size}", max(row["peak"] for row in sql_rows), "MB"),
    ]
    if large:
        rows += [
            Row(f"svd of the {int(our_rows[0]['queries'])} selected queries", median(our_rows, "svd"), "s", 1.0),
            Row(f"the competition's {LINES:,} lines at that speed", LINES / lines_per_second, "s"),
        ]
    return rows


def main() -> bool:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in SIZES:
            path = Path(folder) / f"{lines}.txt"
            synth(path, ZipfTraffic(lines, queries=QUERIES), "kdd2012")
            rows += measure(path, lines, TURNS if lines == max(SIZES) else 2)
            path.unlink()
    return report("logs, Zipf queries and ads in the format of KDD Cup 2012", "logs", rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps({"plain_sql": plain_sql, "ours": ours}[sys.argv[1]](sys.argv[2])))
    else:
        sys.exit(not main())
