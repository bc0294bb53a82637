"""Sessions that people have ended: they signed out, but a copy of the cookie may exist until the session would expire.

The store keeps the list, so it survives restarts, and every node knows it within a second. Its length is limited. If
people sign out very often with one key, all sessions of this key end.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from slotwise.service.keys.session import Session

MOST_OF_KEY = 100  # entries of one key


class EndedSession(NamedTuple):
    """Sessions of a key that do not count any more: the one with this proof, or all up to `until` if it is empty."""

    key: str
    proof: str
    until: float


def with_ended(known: Iterable[EndedSession], session: Session, now: float) -> list[EndedSession]:
    """The list after a session has ended. Entries of sessions that have expired are removed."""
    added = EndedSession(*session)
    kept = [entry for entry in known if entry.until > now and entry != added]
    if Counter(entry.key for entry in kept)[session.key] < MOST_OF_KEY:
        return [*kept, added]
    latest = max(entry.until for entry in [*kept, added] if entry.key == session.key)
    return [*(entry for entry in kept if entry.key != session.key), EndedSession(session.key, "", latest)]


def index_of(entries: Iterable[EndedSession]) -> dict[tuple[str, str], float]:
    """The entries in a form that `has_ended` searches quickly."""
    return {(entry.key, entry.proof): entry.until for entry in entries}


def has_ended(index: dict[tuple[str, str], float], session: Session) -> bool:
    """Whether a person has ended this session."""
    key, proof, until = session
    return (key, proof) in index or until <= index.get((key, ""), 0.0)
