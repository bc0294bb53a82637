"""HTML pages from templates, with the headers that every page has."""

from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from slotwise.service.api.route import Response
from slotwise.service.web.numbers import FILTERS
from slotwise.service.web.static_files import static_address

TEMPLATES = Path(__file__).parent / "templates"
HTML = "text/html; charset=utf-8"
# Nothing inline and nothing from other hosts, so a name of an item can never become a script or a style.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types slotwise",
    )
)
SECURITY_HEADERS = MappingProxyType(
    {
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",  # with no-referrer, forms would send `Origin: null`
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }
)


@cache
def environment() -> Environment:
    """The templates. A name that a template does not get is an error, and all values are escaped."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.globals["static"] = static_address
    made.filters.update(FILTERS)
    return made


def render(template: str, **values: Any) -> bytes:
    """A template, filled with these values."""
    return environment().get_template(template).render(values).encode()


def html_response(code: int, template: str, **values: Any) -> Response:
    """A page. Every page has these headers, and is made here."""
    return Response(code, render(template, **values), SECURITY_HEADERS, HTML)
