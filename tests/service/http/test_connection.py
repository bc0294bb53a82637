"""The uvicorn internals that `connection.py` and `server.py` rely on: these tests fail if a release changes them."""

import asyncio
import inspect
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import httptools
import pytest
import uvicorn
from packaging.requirements import Requirement
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from slotwise.service.http.connection import Connection
from slotwise.service.http.server import _Server

ROOT = Path(__file__).parents[3]
SOURCE = inspect.getsource(httptools_impl)
OVERRIDDEN = {
    "connection_made": ["self", "transport"],
    "connection_lost": ["self", "exc"],
    "data_received": ["self", "data"],
    "on_message_begin": ["self"],
    "on_header": ["self", "name", "value"],
    "on_headers_complete": ["self"],
    "on_body": ["self", "body"],
    "on_message_complete": ["self"],
    "eof_received": ["self"],
    "on_response_complete": ["self"],
    "timeout_keep_alive_handler": ["self"],
    "shutdown": ["self"],
    "pause_writing": ["self"],
    "resume_writing": ["self"],
    "_start_asgi_task": ["self", "cycle", "app"],
}
CHANGED = f"uvicorn {uvicorn.__version__} has changed what slotwise/service/http/connection.py relies on: "


def requirement(name: str) -> Requirement:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["service"]
    return next(known for known in map(Requirement, listed) if known.name == name)


def test_the_installed_uvicorn_is_in_the_supported_range() -> None:
    uvicorn_range = requirement("uvicorn").specifier
    assert any(bound.operator == "<" for bound in uvicorn_range), "uvicorn needs an upper bound: we subclass internals"
    assert version("uvicorn") in uvicorn_range, f"uvicorn {version('uvicorn')} is not in {uvicorn_range}"
    assert version("starlette") in requirement("starlette").specifier


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_overridden_methods_exist_with_the_same_parameters(name: str) -> None:
    assert hasattr(HttpToolsProtocol, name), f"{CHANGED}HttpToolsProtocol.{name} is gone"
    parameters = list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters)
    assert parameters == OVERRIDDEN[name], f"{CHANGED}the parameters of {name} are {parameters}"
    assert name in vars(Connection), f"Connection no longer overrides {name}: remove it from this list"


def test_every_method_that_the_connection_overrides_is_checked() -> None:
    overridden = {name for name in vars(Connection) if callable(getattr(HttpToolsProtocol, name, None))}
    assert {name for name in overridden if not name.startswith("__")} == set(OVERRIDDEN)


def test_a_connection_has_the_attributes_that_are_used() -> None:
    async def scenario() -> None:
        config = uvicorn.Config(app=lambda *_: None, http=Connection, ws="none", lifespan="off", log_config=None)
        connection = Connection(config, ServerState(), {}, asyncio.get_running_loop())
        for name in ("connections", "loop", "parser", "cycle", "transport", "_unset_keepalive_if_required"):
            assert hasattr(connection, name), f"{CHANGED}the attribute {name} is gone"
        assert isinstance(connection.connections, set), f"{CHANGED}connections is no longer a set"
        assert isinstance(connection.parser, httptools.HttpRequestParser), f"{CHANGED}parser is of another type"
        assert connection.cycle is None, f"{CHANGED}cycle is not None before the first request"
        connection.on_message_begin()
        connection.on_url(b"/a")
        connection.on_header(b"Host", b"localhost")
        assert connection.url == b"/a", f"{CHANGED}url is not the request's target"
        assert connection.headers == [(b"host", b"localhost")], f"{CHANGED}headers are not (name, value) in lower case"

    asyncio.run(scenario())


def test_a_cycle_has_the_attribute_response_complete() -> None:
    assert "self.response_complete = False" in inspect.getsource(RequestResponseCycle.__init__), (
        f"{CHANGED}RequestResponseCycle.response_complete is gone"
    )
    assert re.search(r"self\.cycle = RequestResponseCycle\(", SOURCE), f"{CHANGED}cycle is set in another way"


@pytest.mark.parametrize("status", [400, 408, 431, 503])
def test_status_lines_are_whole_lines(status: int) -> None:
    assert re.fullmatch(rb"HTTP/1.1 %d [A-Za-z ]+\r\n" % status, httptools_impl.STATUS_LINE[status]), (
        f"{CHANGED}STATUS_LINE[{status}] is {httptools_impl.STATUS_LINE[status]!r}"
    )


@pytest.mark.parametrize("name", ["should_upgrade", "get_method", "get_http_version", "feed_data"])
def test_the_parser_has_the_methods_that_are_used(name: str) -> None:
    assert hasattr(httptools.HttpRequestParser, name), f"httptools has changed: HttpRequestParser.{name} is gone"


def test_the_server_has_the_methods_that_are_overridden() -> None:
    for name in ("startup", "capture_signals"):
        assert callable(getattr(uvicorn.Server, name, None)), f"{CHANGED}Server.{name} is gone"
        assert name in vars(_Server), f"_Server no longer overrides {name}"
    assert list(inspect.signature(uvicorn.Server.startup).parameters) == ["self", "sockets"], f"{CHANGED}Server.startup"
    assert "should_exit" in vars(uvicorn.Server(uvicorn.Config(app=lambda *_: None))), f"{CHANGED}Server.should_exit"
