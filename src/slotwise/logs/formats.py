"""The named log formats: presets for known logs, and generic file formats."""

from slotwise.checks import one_of
from slotwise.logs import kdd2012, open_bandit
from slotwise.logs.schema import ANY_POSITION, Schema

EXPORTED_LOG = "slotwise"  # the log that the service exports; its queries are pages
FORMATS = {
    "csv": Schema(),
    "tsv": Schema(delimiter="\t", quote=""),
    "ndjson": Schema(kind="ndjson"),
    "parquet": Schema(kind="parquet"),
    EXPORTED_LOG: Schema(kind="ndjson", query="page", shown="shown", positions=(ANY_POSITION,)),
    "kdd2012": kdd2012.SCHEMA,
    "open-bandit": open_bandit.SCHEMA,
}
GENERIC_FORMATS = ("csv", "tsv", "ndjson", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def format_of(name: str) -> Schema:
    """The schema of a named format."""
    return FORMATS[one_of("format", name, FORMATS)]
