"""Parse the values of options: click models, policies with their settings, numbers and file names."""

import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.extras import require

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # of durations, in seconds


class PolicyChoice(NamedTuple):
    """A policy with settings, such as pb_mhb:width=10, and a label for tables and charts."""

    label: str
    policy: str
    params: dict[str, Any]


def choose_model(
    setting: str | None, theta: str | None, kappa: str | None, file: Path | None, query: str | None = None
) -> tuple[Any, str]:
    """The click model that the options describe, and its description as text."""
    from slotwise.clickmodels.pbm import PBM
    from slotwise.paper.named_click_models import setting as setting_model

    sources = [setting is not None, theta is not None or kappa is not None, file is not None]
    if sum(sources) > 1:
        raise BadInput("--setting, --theta with --kappa, and --model exclude each other; use one of them")
    if query is not None and file is None:
        raise BadInput(f"--query {query!r} needs --model with a file of fits")
    if file is not None:
        return _read_model(file, query)
    if theta is None and kappa is None:
        name = setting or "standard"
        return setting_model(name), f"{name} setting"
    if theta is None or kappa is None:
        raise BadInput("--theta and --kappa are needed together")
    return PBM(parse_numbers("--theta", theta), parse_numbers("--kappa", kappa)), "given theta and kappa"


def _read_model(file: Path, query: str | None) -> tuple[Any, str]:
    """Read a click model from a JSON file with theta and kappa, or from one query of a file of fits."""
    from slotwise.clickmodels.pbm import PBM
    from slotwise.inference.fit_files import select_fit

    content = read_json(file)
    if isinstance(content, dict) and content.get("format") == "slotwise-fit":
        fit = select_fit(file, query, "--query")
        return fit, f"{file}, query {fit.name}"
    if not isinstance(content, dict) or not {"theta", "kappa"} <= content.keys():
        raise BadInput(f'{str(file)!r} is neither a file of fits nor a JSON object with "theta" and "kappa"')
    if query is not None:
        raise BadInput(f"--query {query!r} needs a file of fits, and {str(file)!r} is not one")
    return PBM(content["theta"], content["kappa"]), str(file)


def read_json(file: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {str(file)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(file)!r} is not JSON: {error}") from None


def parse_policy(text: str) -> PolicyChoice:
    """Parse a policy and its settings, which are separated by colons: pb_mhb:width=10:sweeps=2."""
    policy, *settings = text.split(":")
    params = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise BadInput(f"{setting!r} in {text!r} is not a setting of the form name=value")
        params[name] = _parse_value(value)
    label = Path(policy).stem if policy.endswith(".py") else policy
    return PolicyChoice(" ".join([label, *settings]), policy, params)


def _parse_value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def parse_numbers(option: str, text: str) -> list[float]:
    """Parse comma-separated numbers."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise BadInput(f"{option} = {text!r} is not a list of numbers such as .3,.2,.1") from None


def parse_whole_number(option: str, text: str) -> int:
    """Parse a whole number of at least 1. It may be written as 1e5."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 1 <= number < 2**53 or number != int(number):
        raise BadInput(f"{option} = {text!r} is not a whole number of at least 1")
    return int(number)


def parse_duration(option: str, text: str) -> float:
    """Parse a duration, a number and a unit such as 90d, as a number of seconds."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise BadInput(f"{option} = {text!r} is not a duration such as 90d; the units are {', '.join(_UNITS)}")
    return float(int(number) * _UNITS[unit])


def parse_list(option: str, text: str) -> list[str]:
    """Parse names that are separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadInput(f"{option} = {text!r} is not a list of names, separated by commas")
    return names


def parse_rate(text: str) -> float | None:
    """Parse a number of rounds per second. The value `max` gives None."""
    if text == "max":
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number <= 1e6:
        raise BadInput(f"--rate = {text!r} is neither max nor a number of rounds per second, above 0 and up to 1e6")
    return number


def check_chart_paths(paths: list[Path] | None) -> None:
    """Raise an error before the work begins if a chart cannot be written."""
    from slotwise.charts import SUFFIXES

    check_output_paths(paths, SUFFIXES, "a chart")
    if paths:
        require("charts", "--chart")


def check_output_paths(paths: list[Path] | None, suffixes: Sequence[str], content: str) -> None:
    """Raise an error before the work begins if a file cannot be written."""
    for path in paths or []:
        if path.suffix.lower() not in suffixes:
            allowed = f"one of {', '.join(suffixes)}" if len(suffixes) > 1 else suffixes[0]
            raise BadInput(f"cannot write {content} to {str(path)!r}: the name must end in {allowed}")
        if not path.parent.is_dir():
            raise BadInput(f"cannot write {content} to {str(path)!r}: the folder {str(path.parent)!r} does not exist")


def parse_time(option: str, text: str) -> float:
    """A time with its time zone, as seconds since 1970."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise BadInput(f"{option} {text!r} is not a time with its time zone, such as 2030-12-24T18:00:00Z")
    return time.timestamp()
