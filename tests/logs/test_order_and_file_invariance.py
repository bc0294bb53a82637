"""The counts do not depend on the order of the lines, on the files, or on the steps of the counting."""

import tempfile
from pathlib import Path

import pyarrow.parquet as parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.logs.read_log import count_log, read_log
from slotwise.logs.save_cells import save_cells
from tests.logs.plain_counting import Row, cells, count, write

NAMES = st.sampled_from(["a", "b", "é", "1", "01", "x y"])
ROWS = st.lists(st.tuples(NAMES, NAMES, st.integers(1, 4), st.integers(0, 1)), min_size=1, max_size=60)
FORMATS = st.sampled_from(["csv", "tsv", "ndjson", "parquet"])


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, format=FORMATS, data=st.data())
def test_permuting_lines_and_splitting_files_changes_nothing(rows: list[Row], format: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(rows))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows)), max_size=3)))
    groups = [order[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True) if begin < end]
    with tempfile.TemporaryDirectory() as folder:
        files = [str(write(Path(folder) / f"{k}.{format}", group)) for k, group in enumerate(groups)]
        assert cells(read_log(files)) == count(rows)


@settings(max_examples=12, deadline=None)
@given(first=ROWS, second=ROWS)
def test_counting_in_two_steps_changes_nothing(first: list[Row], second: list[Row]) -> None:
    """Two logs counted and saved separately, then read together, give the counts of both at once."""
    with tempfile.TemporaryDirectory() as folder:
        saved = []
        for k, rows in enumerate((first, second)):
            with count_log(str(write(Path(folder) / f"{k}.csv", rows))) as log:
                saved.append(Path(folder) / f"cells{k}.parquet")
                assert save_cells(log, saved[-1]) == len(count(rows)) == parquet.read_metadata(saved[-1]).num_rows
        assert cells(read_log([str(path) for path in saved])) == count(first + second)
