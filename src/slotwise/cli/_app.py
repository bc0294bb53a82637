"""The Typer application that every command registers with."""

import typer

app = typer.Typer(
    name="slotwise",
    help="Learns from clicks alone which items to show in which position of a page.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
