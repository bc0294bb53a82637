"""The settings of `slotwise serve`, declared once: flags, environment variables and keys of the file derive from them.

A flag overrides a variable, a variable overrides the file, and the file overrides the default.
"""

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from slotwise.checks import BadInput

CONFIG_VARIABLE = "SLOTWISE_CONFIG"
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
# A signal SIGHUP applies the new values of these; the others need a restart.
RELOADABLE = ("tls_cert", "tls_key", "refresh_share", "memory", "log_level")


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of a service. The descriptions are the help of the command line."""

    store: Annotated[
        str, Meta(description="Store of the service, as sqlite:///PATH or postgresql://USER@HOST/DATABASE.")
    ] = "sqlite:///slotwise.db"
    dev: Annotated[bool, Meta(description="Serve without keys, to this machine only.")] = False
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Port to listen on; 0 takes a free one.")] = 8000
    uds: Annotated[str, Meta(description="Path of a Unix domain socket to listen on, instead of a port.")] | None = None
    uds_mode: Annotated[
        str, Meta(pattern="^0?[0-7]{3}$", description="Permissions of the Unix domain socket, in octal digits.")
    ] = "660"
    tls_cert: Annotated[str, Meta(description="PEM file with the TLS certificate and its chain.")] | None = None
    tls_key: Annotated[str, Meta(description="PEM file with the private key of the TLS certificate.")] | None = None
    trust_proxy: (
        Annotated[
            str, Meta(description="Networks of proxies whose X-Forwarded-For header counts: 10.0.0.0/8,::1 or unix.")
        ]
        | None
    ) = None
    metrics_port: (
        Annotated[
            int, Meta(ge=0, le=65535, description="Port that serves only /metrics and health checks, without keys.")
        ]
        | None
    ) = None
    metrics_host: Annotated[str, Meta(description="Address of the port for metrics.")] = "127.0.0.1"
    workers: Annotated[int, Meta(ge=1, description="Processes that share the port; a SQLite store allows one.")] = 1
    refresh_share: Annotated[
        float, Meta(ge=0.01, le=1.0, description="Share of one core that may be used to make ensembles of draws.")
    ] = 0.5
    memory: Annotated[
        int, Meta(ge=1, le=10**9, description="MB for pages in memory; pages that were not used for longest leave it.")
    ] = 4000
    shutdown_seconds: Annotated[
        float, Meta(ge=0.0, le=3600.0, description="Time for requests in progress when the service stops.")
    ] = 5.0
    log_level: Annotated[LogLevel, Meta(description="Least severe messages in the log of the service.")] = "warning"
    log_format: Annotated[LogFormat, Meta(description="Lines of the log: text, or JSON objects.")] = "text"
    traces: Annotated[bool, Meta(description="Send OpenTelemetry traces; the variables OTEL_... say where to.")] = False
    seed: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="Seed, for tests: the same requests, sent one after another, get the same displays. "
                "Random by default.",
            ),
        ]
        | None
    ) = None


NAMES = Settings.__struct_fields__
_DEFAULTS = Settings()
TYPES: dict[str, Any] = get_type_hints(Settings, include_extras=True)


class Declaration(NamedTuple):
    """How a setting is declared. `kind` is str, int, float, bool or a Literal."""

    kind: Any
    about: str
    default: Any


def declaration(name: str) -> Declaration:
    """The declaration of a setting."""
    type_ = TYPES[name]
    given = next(option for option in (type_, *get_args(type_)) if get_origin(option) is Annotated)
    kind, meta = get_args(given)
    return Declaration(kind, meta.description, getattr(_DEFAULTS, name))


def flag(name: str) -> str:
    """The flag of a setting."""
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return "SLOTWISE_" + name.upper()


def read_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, config: Path | None = None
) -> Settings:
    """The settings. `flags` has the value of each flag that was given. Raises BadInput for the first invalid value."""
    path = config or (Path(environment[CONFIG_VARIABLE]) if environment.get(CONFIG_VARIABLE) else None)
    values = {} if path is None else _from_file(path)
    for name in NAMES:
        text = environment.get(variable(name))
        if text:  # an empty variable counts as absent, because compose files cannot remove one
            values[name] = _converted(name, text, variable(name), strict=False)
    for name, value in flags.items():
        values[name] = _converted(name, value, flag(name))
    return Settings(**values)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise BadInput(f"{path} is not valid TOML: {error}") from None
    for name in content:
        if name not in NAMES:
            nearest = get_close_matches(name.replace("-", "_"), NAMES, 1)
            proposal = f"; did you mean {nearest[0]}?" if nearest else f"; known are {', '.join(NAMES)}"
            raise BadInput(f"{path}: there is no setting {name!r}{proposal}")
    return {name: _converted(name, value, f"{path}: {name}") for name, value in content.items()}


def _converted(name: str, value: Any, where: str, strict: bool = True) -> Any:
    if isinstance(value, str) and declaration(name).kind is bool:
        value = {"1": "true", "0": "false"}.get(value, value).lower()
    if isinstance(value, str) and "\0" in value:
        raise BadInput(f"{where} = {value!r}: a null character is not allowed")
    try:
        return msgspec.convert(value, TYPES[name], strict=strict)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where} = {value!r}: {error}") from None
