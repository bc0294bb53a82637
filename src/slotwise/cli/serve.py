"""`slotwise serve`: the online service."""

import asyncio
import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.cli import _console as console
from slotwise.cli import _options as options
from slotwise.cli._app import app
from slotwise.extras import require
from slotwise.service.settings import CONFIG_VARIABLE, NAMES, declaration, flag, read_settings


def serve(config: Path | None, quiet: bool, **given: Any) -> None:
    """Recommend displays over HTTP, and learn from the clicks.

    Every option except --quiet can also be an environment variable (--tls-cert is SLOTWISE_TLS_CERT) or, except
    --config, a key of the file (tls_cert). An option overrides the variable, and the variable overrides the file.
    """
    require("service", "slotwise serve")
    from slotwise.service.background_threads import exit_if_busy
    from slotwise.service.http.network_settings import network_of
    from slotwise.service.http.server import serve as run
    from slotwise.service.http.workers import run_workers, worker

    flags = {name: value for name, value in given.items() if value is not None}
    settings = read_settings(flags, config=config)
    if settings.workers > 1 and worker() is None:
        run_workers(settings.workers, network_of(settings), lambda line: print(line, flush=True))
        return
    with console.compile_bar(quiet):
        asyncio.run(
            run(
                settings,
                lambda line: print(line, flush=True),
                reread=lambda: read_settings(flags, config=config),
            )
        )
    exit_if_busy()


def _option(name: str) -> inspect.Parameter:
    """The option of a setting. None means that the flag is not given."""
    kind, about, default = declaration(name)
    shown = False if default is None or kind is bool else str(default)
    option = typer.Option(flag(name), help=about, show_default=shown)
    base = kind if kind in (int, float, bool) else str
    annotation = Annotated[base | None, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


_CONFIG = typer.Option(help="TOML file with settings.", envvar=CONFIG_VARIABLE, show_envvar=False)
_QUIET = typer.Option("--quiet", help="Show no progress bar while it compiles.")
_PARAMETERS = [
    *map(_option, NAMES),
    inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, _CONFIG]
    ),
    inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _QUIET]),
]
serve.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]
serve.__annotations__ = {parameter.name: parameter.annotation for parameter in _PARAMETERS}
app.command(epilog=options.examples("slotwise serve --dev --store sqlite:///shop.db --port 8000"))(serve)
