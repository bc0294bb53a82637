"""Pauses before a retry: they double with every failure, up to a limit, and are jittered."""

import random


def backoff_seconds(failures: int, first: float, longest: float) -> float:
    """A random pause after this many failures in a row.

    It is between half of its upper bound and the bound: clients that failed together do not return together.
    """
    bound: float = min(longest, first * 2.0 ** min(failures - 1, 30))
    return random.uniform(0.5, 1.0) * bound
