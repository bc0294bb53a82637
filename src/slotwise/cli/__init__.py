"""The command line: one file for each command, each a few lines that call the library."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import (  # noqa: F401 - each file registers its command
    demo,
    diagnose,
    fit,
    load,
    logs,
    pages,
    policies,
    reproduce,
    serve,
    simulate,
    verify,
)
from slotwise.cli._console import app
from slotwise.version import __version__

__all__ = ["__version__", "app", "main"]


def main() -> None:
    """Run a command: bad input ends with one clear line and exit code 2, never with a traceback."""
    try:
        app()
    except BadInput as error:
        console.errors.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        console.errors.print("stopped")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing to tell anybody
        sys.exit(0)


@app.callback(invoke_without_command=True)
def common(version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False) -> None:
    """Options of slotwise itself."""
    if version:
        console.screen.print(__version__)
        raise typer.Exit
