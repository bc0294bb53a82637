"""Optional packages: which extra installs each package, and the error if a package is missing."""

from importlib.util import find_spec

from slotwise.checks import BadInput

# the packages of each extra that slotwise imports itself; a test compares them with pyproject.toml
EXTRAS = {
    "service": ("starlette", "uvicorn", "httptools", "prometheus_client", "itsdangerous", "jinja2", "markupsafe"),
    "otel": ("opentelemetry",),
    "logs": ("ibis", "duckdb", "pyarrow"),
    "charts": ("altair", "vl_convert", "jinja2"),
    "diagnostics": ("arviz_stats",),
    "cluster": ("distributed",),
    "postgres": ("psycopg", "psycopg_pool"),
    "spark": ("pyspark",),
}


class MissingExtra(BadInput):
    """A function needs packages that are not installed. The message names the extra that installs them.

    >>> require("logs", "a log", "pencils")
    Traceback (most recent call last):
        ...
    slotwise.extras.MissingExtra: a log needs pencils, not installed here; install with: pip install 'slotwise[logs]'
    """


def require(extra: str, purpose: str, *packages: str) -> None:
    """Raise MissingExtra unless these packages of an extra are installed. By default, all its packages are checked.

    Call this before the import statements that need the packages. A check takes microseconds, but an import takes up
    to a second.
    """
    missing = [package for package in packages or EXTRAS[extra] if not is_installed(package)]
    if missing:
        raise MissingExtra(
            f"{purpose} needs {', '.join(missing)}, not installed here; install with: pip install 'slotwise[{extra}]'"
        )


def is_installed(package: str) -> bool:
    """Whether a package can be imported. This does not import the package."""
    return find_spec(package) is not None
