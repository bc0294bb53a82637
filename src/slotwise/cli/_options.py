"""Options that several commands have, and a way to declare a group of options once."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress bars.")]
Url = Annotated[str, typer.Option(help="Address of the service.")]
STORE_VARIABLE, DEFAULT_STORE = "SLOTWISE_STORE", "sqlite:///slotwise.db"
Store = Annotated[
    str,
    typer.Option(
        envvar=STORE_VARIABLE, show_envvar=False, help=f"Store of the service, as sqlite:///PATH; or {STORE_VARIABLE}."
    ),
]
Theta = Annotated[str | None, typer.Option(help="Attractiveness of each item, from 0 to 1: .3,.2,.1")]
Kappa = Annotated[str | None, typer.Option(help="Visibility of each position, from 0 to 1: 1,.5")]
ClickDelay = Annotated[int, typer.Option(help="Send each click this many rounds late.")]
Query = Annotated[
    str | None, typer.Option(help="Query of the file of fits; needed when the file has more than one query.")
]


def chart_option(what: str) -> Any:
    """The option `--chart` of a command that draws `what`."""
    return typer.Option(help=f"Draw {what} into a .svg, .png, .pdf, .html or .json file; repeat for more files.")


def examples(*commands: str) -> str:
    """The end of a command's help: examples that work when pasted, each on its own line of at most 78 columns."""
    return "\n".join(["Examples:", *commands])


def with_option_group(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a dataclass whose fields are options.

    Typer reads the options from the signature of a function. The returned function has the parameters of `command`, but
    every parameter whose annotation is a dataclass is replaced by the fields of this dataclass.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if dataclasses.is_dataclass(parameter.annotation)
    }
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        options += _fields(groups[name]) if name in groups else [parameter.replace(kind=parameter.KEYWORD_ONLY)]

    @functools.wraps(command)
    def call(**values: Any) -> None:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**built, **values)

    call.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    return call


def _fields(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=types[field.name],
        )
        for field in dataclasses.fields(group)
    ]
