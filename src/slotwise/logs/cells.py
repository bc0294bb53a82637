"""Cells as a file: a log counted once, for many fits."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from slotwise.files import beside
from slotwise.logs.read_log import Counted

SCHEMA = pa.schema(
    [
        ("page", pa.string()),
        ("item", pa.string()),
        ("position", pa.string()),
        ("shown", pa.int64()),
        ("clicked", pa.int64()),
    ]
)


def save_cells(found: Counted, path: Path) -> int:
    """Write all the cells as Parquet, whole or not at all and piece by piece; their number."""
    size = 0
    with beside(path) as draft, pa.parquet.ParquetWriter(draft, SCHEMA) as writer:
        for batch in found.batches():
            writer.write_batch(batch.cast(SCHEMA))
            size += batch.num_rows
    return size
