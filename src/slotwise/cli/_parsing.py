"""What people type, read: click models, policies with their settings, numbers, names of charts."""

import json
from pathlib import Path
from typing import Any

from slotwise.checks import BadInput


def model_of(
    setting: str | None, theta: str | None, kappa: str | None, file: Path | None, query: str | None = None
) -> tuple[Any, str]:
    """The click model that was asked for, and what to call it."""
    from slotwise.clickmodels.pbm import PBM
    from slotwise.paper.settings import setting as named

    ways = [setting is not None, theta is not None or kappa is not None, file is not None]
    if sum(ways) > 1:
        raise BadInput("give one of --setting, --theta with --kappa, or --model, not several")
    if query is not None and file is None:
        raise BadInput(f"--query {query!r} goes with --model, a file of fits")
    if file is not None:
        return _read_model(file, query)
    if theta is None and kappa is None:
        name = setting or "standard"
        return named(name), f"{name} setting"
    if theta is None or kappa is None:
        raise BadInput("--theta and --kappa go together")
    return PBM(numbers("--theta", theta), numbers("--kappa", kappa)), "given theta and kappa"


def _read_model(file: Path, query: str | None) -> tuple[Any, str]:
    """Theta and kappa alone, or one query of a file of fits."""
    from slotwise.clickmodels.pbm import PBM
    from slotwise.inference.fit_files import select_fit

    content = read_json(file)
    if isinstance(content, dict) and content.get("format") == "slotwise-fit":
        fit = select_fit(file, query, "--query")
        return fit, f"{file}, query {fit.name}"
    if not isinstance(content, dict) or not {"theta", "kappa"} <= content.keys():
        raise BadInput(f'{str(file)!r} must hold an object with "theta" and "kappa", or be a file of fits')
    if query is not None:
        raise BadInput(f"{str(file)!r} has no queries to choose {query!r} from: it is not a file of fits")
    return PBM(content["theta"], content["kappa"]), str(file)


def read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {str(file)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(file)!r} is not JSON: {error}") from None


def entry(text: str) -> tuple[str, str, dict[str, Any]]:
    """'pb_mhb:width=10' as (label, policy, params)."""
    policy, *settings = text.split(":")
    params = {}
    for part in settings:
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInput(f"{part!r} in {text!r} is not a setting; name=value is needed")
        params[name] = _value(value)
    label = Path(policy).stem if policy.endswith(".py") else policy
    return " ".join([label, *settings]), policy, params


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"{name} = {text!r} is not a list of numbers such as .3,.2,.1") from None


def whole_text(name: str, text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        raise BadInput(f"{name} = {text!r} is not a whole number of at least 1") from None
    if not 1 <= number < 2**53 or number != int(number):
        raise BadInput(f"{name} = {text!r} is not a whole number of at least 1")
    return int(number)


def check_charts(chart: list[Path] | None) -> None:
    from slotwise.charts import SUFFIXES

    for path in chart or []:
        if path.suffix.lower() not in SUFFIXES:
            raise BadInput(f"cannot draw {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
        if not path.parent.is_dir():  # said before the work is done, not after it
            raise BadInput(f"cannot draw {str(path)!r}: the folder {str(path.parent)!r} does not exist")
