"""Save the cells of a counted log as Parquet, so that a log that is counted once can be fitted many times."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from slotwise.files import beside
from slotwise.logs.read_log import CountedLog

SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("item", pa.string()),
        ("position", pa.string()),
        ("shown", pa.int64()),
        ("clicked", pa.int64()),
    ]
)


def save_cells(log: CountedLog, path: Path) -> int:
    """Write all cells batch by batch and return their number. The file appears only when it is complete."""
    size = 0
    with beside(path) as draft, pa.parquet.ParquetWriter(draft, SCHEMA) as writer:
        for batch in log.batches():
            writer.write_batch(batch.cast(SCHEMA))
            size += batch.num_rows
    return size
