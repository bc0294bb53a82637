"""One session of a person who has signed in. `sessions.py` signs sessions, which needs the extra `service`."""

from typing import NamedTuple


class Session(NamedTuple):
    """Who has signed in, and until when.

    `proof` is random, so it identifies the session. A request that changes something must repeat it in a header.
    """

    key: str  # the id of the key
    proof: str
    until: float
