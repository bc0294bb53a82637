"""Who looks at the dashboard, and what they may do: templates show no action that would be refused."""

from typing import Any, NamedTuple

from slotwise.service.api.route import Call


class Visitor(NamedTuple):
    """The person at the browser. `proof` is what changes must repeat; see `Session`."""

    name: str
    may_act: bool
    signed_in: bool
    proof: str


def visitor_of(call: Call[Any]) -> Visitor:
    """Who makes this call."""
    if call.key is None:
        return Visitor("this machine", True, False, "")
    proof = "" if call.session is None else call.session.proof
    return Visitor(call.key.name, "admin" in call.key.scopes, call.session is not None, proof)
