"""The command line: one file for each command. The commands call the library."""

import os
import sys
import threading
from typing import Annotated

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console
from slotwise.cli import (  # noqa: F401 - each file registers its command
    backup,
    demo,
    diagnose,
    evaluate,
    fit,
    keys,
    load,
    logs,
    logs_export,
    logs_open_bandit,
    page_delete,
    page_edits,
    page_history,
    page_state,
    pages,
    policies,
    reproduce,
    serve,
    simulate,
    store,
    top,
    uplift,
    verify,
)
from slotwise.cli._app import app
from slotwise.logs.malformed_log import MalformedLog
from slotwise.simulation import THREAD_NAMES
from slotwise.version import __version__

__all__ = ["__version__", "app", "main"]


def main() -> None:
    """Run a command. If a policy hangs in compiled code, end the process without waiting for its thread."""
    try:
        _run()
    except SystemExit as ending:
        if any(thread.name.startswith(THREAD_NAMES) for thread in threading.enumerate()):
            sys.stdout.flush()
            os._exit(ending.code if isinstance(ending.code, int) else 1)
        raise


def _run() -> None:
    """Run a command. Bad input ends with one line on stderr and exit code 2, never with a traceback."""
    try:
        app()
    except MalformedLog as error:
        command = ["slotwise", *sys.argv[1:]]
        remedies = [remedy._replace(options=(*command, *remedy.options)) for remedy in error.remedies]
        console.print_error("\n  ".join([error.problem, *map(str, remedies)]))
        sys.exit(2)
    except BadInput as error:
        console.print_error(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        console.stderr.print("stopped")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # stdout has no reader any more; this suppresses Python's own message about it
        sys.exit(0)


@app.callback(invoke_without_command=True)
def common(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Options of slotwise itself."""
    if version:
        console.stdout.print(__version__)
        raise typer.Exit
