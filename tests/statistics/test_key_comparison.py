"""Does the time to look up a wrong key depend on how much of it is right?

Law: of the wrong keys, half share the first 24 random characters with a real key, and half share none. Every key is
used once, because the time to look up a key in a dictionary depends on its random hash. The kinds are in random order,
so if the time does not depend on the kind, they are exchangeable. Then Welch's t of 100,000 times of each kind, without
the slowest tenth of all times, is a standard normal variable. The limit 5 has a false-alarm rate of 6e-7. The negative
control is a comparison that stops at the first wrong character.
"""

import time
from collections.abc import Callable

import numpy as np
import pytest

from slotwise.service.keys.api_keys import PREFIX, _checksum, is_well_formed, make_key
from slotwise.service.keys.key_cache import KeyCache

LOOKUPS = 200_000
LIMIT = 5.0
SAME = 24  # characters
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
pytestmark = pytest.mark.statistics


def well_formed(random_part: str) -> bytes:
    text = PREFIX + random_part
    secret = (text + _checksum(text.encode())).encode()
    assert is_well_formed(secret)
    return secret


def welch_t(find: Callable[[bytes], object], secret: str, rng: np.random.Generator) -> float:
    """The t statistic of the times of almost right keys, compared with those of other keys."""
    same = secret[len(PREFIX) : len(PREFIX) + SAME]
    kinds = rng.integers(0, 2, LOOKUPS)
    letters = rng.choice(list(ALPHABET), (LOOKUPS, 32))
    keys = [
        well_formed(same + drawn[SAME:] if kind else drawn)
        for kind, drawn in zip(kinds.tolist(), ("".join(row) for row in letters.tolist()), strict=True)
    ]
    times, now = np.empty(LOOKUPS), time.perf_counter_ns
    for k, key in enumerate(keys):
        started = now()
        find(key)
        times[k] = now() - started
    usual = times <= np.quantile(times, 0.9)
    first, second = times[usual & (kinds == 0)], times[usual & (kinds == 1)]
    error = np.sqrt(first.var() / first.size + second.var() / second.size)
    return float((second.mean() - first.mean()) / error)


def test_the_time_of_a_lookup_does_not_depend_on_how_much_of_a_key_is_right() -> None:
    new = make_key("web", ("serve",), 0.0)
    cache = KeyCache(None, lambda: 0.0)  # type: ignore[arg-type]
    cache._apply([new.key, *(make_key("other", ("serve",), 0.0).key for _ in range(20))])
    assert cache.find(new.secret.encode()) is not None
    assert abs(welch_t(cache.find, new.secret, np.random.default_rng(1))) < LIMIT


def test_a_comparison_that_stops_at_the_first_wrong_character_is_found() -> None:
    new = make_key("web", ("serve",), 0.0)
    right = new.secret.encode()

    def find(secret: bytes) -> bool:
        return all(a == b for a, b in zip(secret, right, strict=True))

    assert welch_t(find, new.secret, np.random.default_rng(2)) > 10 * LIMIT
