"""The options of the commands that simulate visitors, and the click model that they describe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.cli import _options as options
from slotwise.cli._parsing import choose_model


@dataclass(frozen=True)
class ModelOptions:
    """The options that say which click model the visitors follow."""

    setting: Annotated[
        str | None,
        typer.Option(help="Setting of the paper: standard (the default), near-zero, near-one, or q1 ... q19."),
    ] = None
    theta: options.Theta = None
    kappa: options.Kappa = None
    model: Annotated[
        Path | None,
        typer.Option(help='JSON file with theta and kappa, {"theta": [...], "kappa": [...]}, or a file of fits.'),
    ] = None

    def choose(self, query: str | None = None) -> tuple[Any, str]:
        """The click model, and its description as text."""
        return choose_model(self.setting, self.theta, self.kappa, self.model, query)
