"""Sign in with a key, and sign out."""

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from slotwise.service.api.route import OPERATIONS, Call, Parameter, Response, Route
from slotwise.service.errors import StoreDown
from slotwise.service.keys.sessions import set_cookie
from slotwise.service.loopback import names_loopback
from slotwise.service.web.html import html_response
from slotwise.service.web.problem_page import SIGN_IN

START = "/dashboard"
FORM = ("application/x-www-form-urlencoded",)


class SignIn(Struct):
    """The fields of the form. `next` is where to go afterwards."""

    key: str
    next: str = START


class SignOut(Struct):
    """The form to sign out has no fields."""


async def get(call: Call[None]) -> Response:
    """The form to sign in."""
    target = call.query.get("next", START)
    return html_response(200, "dashboard/sign_in.html", detail="", next=target if _is_ours(target) else START)


async def post(call: Call[SignIn]) -> Response:
    """Start a session of the key. Access control has checked the key."""
    target = quote(call.body.next if _is_ours(call.body.next) else START)
    if call.key is None:  # dev mode
        return Response(303, headers={"location": target})
    sessions = call.service.sessions
    cookie = sessions.sign(sessions.start(call.key.id, call.service.clock()))
    return Response(
        303, headers={"location": target, "set-cookie": set_cookie(cookie, not names_loopback(call.headers))}
    )


async def sign_out(call: Call[SignOut]) -> Response:
    """End the session, and delete the cookie. While the store is down, only the cookie is deleted."""
    if call.session is not None:
        with suppress(StoreDown):
            await call.service.end_session(call.session)
    cookie = set_cookie("", not names_loopback(call.headers))
    return Response(303, headers={"location": SIGN_IN, "set-cookie": cookie})


def _is_ours(path: str) -> bool:
    """Whether this is the path of a page of the dashboard, and not the address of another site."""
    return (path == START or path.startswith(f"{START}/")) and path.isprintable()


_NEXT = Parameter("next", "query", str, "the path to go to afterwards")
_PAGE: dict[int, tuple[str, Any]] = {200: ("the form", "text/html")}
_MOVED: dict[int, tuple[str, Any]] = {303: ("to the dashboard", None)}
ROUTES: list[Route[Any]] = [
    Route(
        "GET", SIGN_IN, "sign_in_form", "The form to sign in.", get, _PAGE, parameters=(_NEXT,), tag=OPERATIONS,
        needs="open", web=True,
    ),
    Route(
        "POST", SIGN_IN, "sign_in", "Sign in with a key.", post, _MOVED, {}, SignIn, FORM, max_bytes=4096,
        needs="read", checks_pages=True, key_in_body=True, web=True,
    ),
    Route(
        "POST", "/dashboard/sign-out", "sign_out", "Sign out.", sign_out, _MOVED, {}, SignOut, FORM, max_bytes=4096,
        needs="read", checks_pages=True, accepts_session=True, web=True,
    ),
]  # fmt: skip
