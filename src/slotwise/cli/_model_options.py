"""The options of the commands that simulate visitors, and the click model that they describe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.checks import BadInput, one_of
from slotwise.cli import _options as options
from slotwise.cli._parsing import choose_model, parse_numbers


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


@dataclass(frozen=True)
class AnyModelOptions(ModelOptions):
    """The same options, and those of the click models other than the PBM."""

    setting: Annotated[
        str | None,
        typer.Option(
            help="Setting of the paper: standard (the default), near-zero, near-one, or q1 ... q19. Of other click "
            "models: cascade, contextual_pbm, dcm, conjunctive, linear_cascade, linear_pbm, rank1, ratings."
        ),
    ] = None
    clicks: Annotated[
        str | None,
        typer.Option(help="Click model: pbm (the default), cascade, dcm, conjunctive or rank1."),
    ] = None
    attraction: Annotated[
        str | None, typer.Option(help="With cascade, dcm, conjunctive: attraction of each item: .2,.2,.05,.05")
    ] = None
    positions: Annotated[int | None, typer.Option(help="With cascade, conjunctive: the number of positions.")] = None
    termination: Annotated[
        str | None,
        typer.Option(help="With dcm: the probability that a click at each position satisfies the visitor: .8,.8"),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(help="With cascade, dcm: the positions, from 0, in the order in which visitors look at them: 1,0"),
    ] = None

    def choose(self, query: str | None = None) -> tuple[Any, str]:
        """The click model, and its description as text."""
        from slotwise.clickmodels import clickmodels
        from slotwise.clickmodels._click_model import make_model
        from slotwise.clickmodels._named_settings import NAMED_SETTINGS

        numbers = ("theta", "kappa", "attraction", "termination", "order")
        texts = {name: getattr(self, name) for name in numbers if getattr(self, name) is not None}
        given: dict[str, Any] = {name: parse_numbers(f"--{name}", text) for name, text in texts.items()}
        if self.positions is not None:
            given["positions"] = self.positions
        name = self.setting if self.clicks is None and not given else self.clicks
        if name in NAMED_SETTINGS and not given and self.model is None and self.setting in (None, name):
            return NAMED_SETTINGS[name], f"{name} setting"
        if self.clicks is None or one_of("--clicks", self.clicks, clickmodels()) == "pbm":
            foreign = [f"--{option}" for option in given if option not in ("theta", "kappa")]
            if foreign:
                raise BadInput(
                    f"{' and '.join(foreign)}: the PBM has --theta and --kappa; use --clicks for another model"
                )
            return super().choose(query)
        if self.setting is not None or self.model is not None:
            raise BadInput(f"--clicks {self.clicks} excludes --setting and --model, except --setting {self.clicks}")
        return make_model(self.clicks, given), f"given {self.clicks} model"
