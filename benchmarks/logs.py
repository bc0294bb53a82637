"""Counting a log in the competition's format against bare DuckDB SQL for the same counts, and its peak memory.

Each turn is a process of its own, so that peaks are its own; the two take turns, so that a slow spell hits both.
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
from slotwise.logs.traffic import Zipf

SIZES = (5_000_000, 20_000_000)
PAGES = 1_000_000
TURNS = 5


def bare(path: str) -> dict[str, float]:
    """What somebody who knows DuckDB would write: the same counts and the paper's rule, and no check of any line."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET memory_limit = '1GB'; SET preserve_insertion_order = false; SET enable_progress_bar = false")
    database.execute(f"SET temp_directory = '{Path(path).parent}'")
    numbers = ("Click", "AdID", "Position", "QueryID")
    columns = ", ".join(f"'{name}': '{'BIGINT' if name in numbers else 'VARCHAR'}'" for name in NAMES)
    options = "delim = '\t', quote = '', header = false, auto_detect = false"
    items = "SELECT QueryID, AdID FROM cells WHERE shown >= 1000 GROUP BY ALL HAVING count(*) = 3"
    queries = f"SELECT QueryID FROM ({items}) GROUP BY ALL HAVING count(*) >= 5"
    told = Clock()
    database.execute(
        "CREATE TABLE cells AS "
        "SELECT QueryID, AdID, Position, count(*) AS shown, count(*) FILTER (Click > 0) AS clicked "
        f"FROM read_csv('{path}', columns = {{{columns}}}, {options}) GROUP BY ALL"
    )
    kept = database.execute(
        f"SELECT * FROM cells SEMI JOIN ({items}) USING (QueryID, AdID) SEMI JOIN ({queries}) USING (QueryID)"
    ).fetchall()
    return told.stop() | {"cells": len(kept), "clicks": sum(row[4] for row in kept)}


def ours(path: str) -> dict[str, float]:
    from slotwise.inference.fit_queries import fit_queries
    from slotwise.logs.read_log import read_log

    few = Path(path).with_suffix(".few")
    with Path(path).open() as lines:
        few.write_text("".join(islice(lines, 1_000)))
    told = Clock()
    read_log(str(few), "kdd2012", {"min_shown": 0, "min_items": 1})  # Ibis is loaded, which is told apart
    once = told.stop()["wall"]
    told = Clock()
    log = read_log(path, "kdd2012")
    found = told.stop() | {"once": once}
    found["queries"] = len(log.queries)
    found["cells"] = sum(query.counts.clicks.size for query in log.queries)
    found["clicks"] = float(sum(query.counts.clicks.sum() for query in log.queries))
    fit_queries(log.queries[:1], "svd")  # compiled before it is timed
    told = Clock()
    fit_queries(log.queries, "svd")
    return found | {"svd": told.stop()["wall"]}


class Clock:
    """Seconds by the clock and of the processor, and the process's peak memory in MB."""

    def __init__(self) -> None:
        self._wall, self._work = time.perf_counter(), time.process_time()

    def stop(self) -> dict[str, float]:
        wall, work = time.perf_counter() - self._wall, time.process_time() - self._work
        return {"wall": wall, "work": work, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def turn(contender: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.logs", contender, str(path)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def measured(path: Path, lines: int, turns: int) -> list[Row]:
    theirs, mine = [], []
    for _ in range(turns):
        theirs.append(turn("bare", path))
        mine.append(turn("ours", path))
    for name in ("cells", "clicks"):
        assert {row[name] for row in theirs} == {row[name] for row in mine}

    def middle(rows: list[dict[str, float]], name: str) -> float:
        return float(np.median([row[name] for row in rows]))

    def times(name: str) -> float:
        return float(np.median([a[name] / b[name] for a, b in zip(mine, theirs, strict=True)]))

    fast, size = lines / middle(mine, "wall"), f"{lines / 1e6:g} million lines"
    large = lines == max(SIZES)
    rows = [
        Row(f"counting / bare DuckDB SQL, {size}, by the clock", times("wall"), "x", 1.3 if large else None),
        Row(f"counting / bare DuckDB SQL, {size}, of the processor", times("work"), "x", 1.3 if large else None),
        Row(f"counting, {size}", fast / 1e6, "million lines/s"),
        Row("counting 1,000 lines, the first time in a process", middle(mine, "once"), "s"),
        Row(f"peak memory, {size}", max(row["peak"] for row in mine), "MB", 2_000),
        Row(f"peak memory of bare DuckDB SQL, {size}", max(row["peak"] for row in theirs), "MB"),
    ]
    if large:
        rows += [
            Row(f"svd of the {int(mine[0]['queries'])} queries kept", middle(mine, "svd"), "s", 1.0),
            Row(f"the competition's {LINES:,} lines at that speed", LINES / fast, "s"),
        ]
    return rows


def main() -> bool:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in SIZES:
            path = Path(folder) / f"{lines}.txt"
            synth(path, Zipf(lines, pages=PAGES), "kdd2012")
            rows += measured(path, lines, TURNS if lines == max(SIZES) else 2)
            path.unlink()
    return report("logs, Zipf queries and ads in the format of KDD Cup 2012", "logs", rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps({"bare": bare, "ours": ours}[sys.argv[1]](sys.argv[2])))
    else:
        sys.exit(not main())
