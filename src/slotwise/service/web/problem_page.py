"""Errors as pages, for browsers. Programs get the same errors as problem+json."""

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

from slotwise.service.api.route import Response
from slotwise.service.web.html import html_response

SIGN_IN = "/dashboard/sign-in"
TITLES = {403: "Not allowed", 404: "There is nothing here", 500: "An error of the service", 503: "Not ready"}


def wants_html(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request comes from the address bar, a link or a form of a browser."""
    return b"text/html" in headers.get(b"accept", b"")


def problem_page(status: int, detail: str, headers: Mapping[str, str], path: str, request_id: str) -> Response:
    """The page of an error. Without a valid key, browsers are sent to the form to sign in, which leads back here."""
    if status == 401 and path != SIGN_IN:
        return Response(303, headers={"location": f"{SIGN_IN}?next={quote(path)}"})
    if path == SIGN_IN and status in (401, 403, 429):
        page = html_response(status, "dashboard/sign_in.html", detail=detail, next="/dashboard")
    else:
        title = TITLES.get(status, HTTPStatus(status).phrase)
        page = html_response(status, "problem.html", status=status, title=title, detail=detail, request_id=request_id)
    return page._replace(headers={**page.headers, **headers})
