"""The options of the commands that call a running service: its address, and the key for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from slotwise.cli import _options as options
from slotwise.client.address import URL

if TYPE_CHECKING:
    from slotwise.client.http_client import HttpClient

KEY_VARIABLE = "SLOTWISE_KEY"
Key = Annotated[
    str | None,
    typer.Option(
        envvar=KEY_VARIABLE,
        show_envvar=False,
        help="Key for the service; not needed with --dev. Other users of this machine can see the arguments of a "
        f"command, so better set the variable {KEY_VARIABLE}.",
    ),
]


@dataclass(frozen=True)
class ServiceOptions:
    """The options that say how to call the service."""

    url: options.Url = URL
    key: Key = None

    def client(self) -> "HttpClient":
        """A client of the service."""
        from slotwise.client.http_client import HttpClient

        return HttpClient(self.url, self.key)
