"""One session of a person who has signed in. `sessions.py` signs sessions, which needs the extra `service`."""

from typing import NamedTuple


class Session(NamedTuple):
    """Who has signed in, and until when. A request that changes something must repeat `proof` in a header."""

    key: str  # the id of the key
    proof: str
    until: float
