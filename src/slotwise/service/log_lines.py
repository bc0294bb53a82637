"""Lines of the log, as the service and `slotwise logs export` write them. Each item of a display has its own line."""

from typing import Any

from msgspec import Struct

from slotwise.service.store.records import LogRow


class LogLine(Struct):
    """An item at a position. `shown` is 0 if the display was discarded or does not count. `clicked` is 0 or 1.

    `allocation` grows by one whenever the shares of the variants change. `bucket` is one of 512 groups of units.
    `value` is that of a click on the item when the display was issued. `propensity` is the probability with which the
    item was shown there, or null if it is not known.
    """

    display: str
    issued: float
    page: str
    segment: str
    layout: str
    position: str
    item: str
    shown: int
    clicked: int
    variant: str
    allocation: int
    bucket: int
    value: float
    propensity: float | None


def log_line(page: str, row: LogRow) -> LogLine:
    """The line of one register."""
    shown = int(row.counted)
    clicked = shown * row.clicked
    return LogLine(
        row.display,
        row.issued,
        page,
        row.segment,
        row.layout,
        row.position,
        row.item,
        shown,
        clicked,
        row.variant,
        row.allocation,
        row.bucket,
        row.value,
        row.propensity,
    )


def parquet_schema() -> Any:
    """The columns of the log in a Parquet file."""
    import pyarrow

    types: dict[Any, Any] = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64()}
    types[float | None] = types[float]
    return pyarrow.schema([(name, types[type_]) for name, type_ in LogLine.__annotations__.items()])
