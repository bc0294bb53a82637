"""The log of the service on stderr, as text or as JSON. Keys never appear in it."""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from slotwise.service.settings import LogFormat, LogLevel

LOGGER = logging.getLogger("slotwise")
_KEY = re.compile(r"\bsw_[0-9A-Za-z]{38}")  # see keys.py; a client may send a key where it does not belong
_REDACTED = "sw_[redacted]"


class TextLines(logging.Formatter):
    """Formats a message as `TIME LEVEL message; name=value ...`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        text = f"{_time(record)} {record.levelname} {record.getMessage()}{';' if fields else ''}{fields}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return _KEY.sub(_REDACTED, text)


class JsonLines(logging.Formatter):
    """Formats a message as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        content: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        return _KEY.sub(_REDACTED, msgspec.json.encode(content).decode())


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a message, given as `extra={"fields": {...}}`."""
    return getattr(record, "fields", {})


def configure_log(level: LogLevel, format: LogFormat) -> None:
    """Write the log to stderr, in this format, from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    for logger in (LOGGER, logging.getLogger("uvicorn.error"), logging.getLogger("asyncio")):
        logger.handlers, logger.propagate = [handler], False
    set_level(level)


def set_level(level: LogLevel) -> None:
    """Change the level of the log."""
    LOGGER.setLevel(level.upper())


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
