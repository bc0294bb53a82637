"""The log of the service on stderr, as text or as JSON. Keys and tokens never appear in it."""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from slotwise.service.settings import LogFormat, LogLevel

LOGGER = logging.getLogger("slotwise")
# see keys.py and tokens.py; a client may send a key or a token where it does not belong, such as in a path
_KEY = re.compile(r"sw_[0-9A-Za-z]{38}")
# what follows the id of the display in a token; the longer signature is that of earlier versions
_TOKEN = re.compile(r"(?:\.[0-9a-f]+){3}\.(?:[0-9A-Za-z_-]{43}|[0-9a-f]{40})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class TextLines(logging.Formatter):
    """Formats a message as `TIME LEVEL message; name=value ...`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        message = record.getMessage().rstrip()  # uvicorn ends some messages with a line break
        text = _on_one_line(f"{_time(record)} {record.levelname} {message}{';' if fields else ''}{fields}")
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return redacted(text)


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
        return redacted(_on_one_line(msgspec.json.encode(content).decode()))


def redacted(text: str) -> str:
    """The text without keys and tokens."""
    return _TOKEN.sub(".[redacted]", _KEY.sub("sw_[redacted]", text))


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


def _on_one_line(text: str) -> str:
    """Escape control characters as JSON does. Otherwise a path with a line break could forge a line."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
