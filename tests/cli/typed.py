"""Commands as a person types them."""

import sys

import pytest
from rich.console import Console

from slotwise import cli
from slotwise.cli import _console


def typed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run a command in this process, on consoles as wide as any table; its exit code."""
    monkeypatch.setattr(sys, "argv", ["slotwise", *arguments])
    monkeypatch.setattr(_console, "screen", Console(width=200))
    monkeypatch.setattr(_console, "errors", Console(stderr=True, width=200))
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0
