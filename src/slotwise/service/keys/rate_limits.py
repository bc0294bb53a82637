"""Limits of the rate of requests: for a key, and for each address that uses a key. They are in memory only."""

from collections import OrderedDict

_MAPPED = "::ffff:"
MOST_ADDRESSES = 10_000  # for each key; the addresses that were not used for longest are forgotten


class RateLimit:
    """Allows `rate` requests per second, and up to `burst` requests at once.

    This is the generic cell rate algorithm: it keeps one number, the time at which the next request is due.
    """

    __slots__ = ("_due", "_interval", "_tolerance")

    def __init__(self, rate: float, burst: float) -> None:
        self._interval, self._tolerance, self._due = 1.0 / rate, (max(burst, 1.0) - 1.0) / rate, 0.0

    def take(self, now: float) -> float:
        """Count a request. Returns 0, or the seconds to wait if the request is not allowed."""
        due = self._due if self._due > now else now
        wait = due - now - self._tolerance
        if wait > 0.01 * self._interval:  # sums of times are not exact
            return wait
        self._due = due + self._interval
        return 0.0

    def reserve(self, now: float, most: float) -> float:
        """Count a request in any case. Returns the seconds, up to `most`, by which to delay its answer."""
        self._due = min(max(self._due, now), now + self._tolerance + most) + self._interval
        return max(0.0, self._due - self._interval - now - self._tolerance)


class AddressLimits:
    """A rate limit for each address."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._limits: OrderedDict[str, RateLimit] = OrderedDict()

    def take(self, address: str, now: float) -> float:
        """Count a request from this address, as `RateLimit.take` does."""
        return self._limit(address).take(now)

    def reserve(self, address: str, now: float, most: float) -> float:
        """Count a request from this address, as `RateLimit.reserve` does."""
        return self._limit(address).reserve(now, most)

    def _limit(self, address: str) -> RateLimit:
        limit = self._limits.get(address)
        if limit is None:
            limit = self._limits[address] = RateLimit(self._rate, self._burst)
            if len(self._limits) > MOST_ADDRESSES:
                self._limits.popitem(last=False)
        else:
            self._limits.move_to_end(address)
        return limit


def network_of(address: str) -> str:
    """The address, or the /64 network of an IPv6 address: a visitor has all addresses of such a network.

    An IPv4 client of an IPv6 socket has an address such as ::ffff:10.1.2.3. All of these are in one /64 network.
    """
    if ":" not in address:
        return address
    if "." in address and address.lower().startswith(_MAPPED):
        return address[len(_MAPPED) :]
    head, has_gap, tail = address.partition("%")[0].partition("::")
    groups = head.split(":") if head else []
    if has_gap:
        rest = tail.split(":") if tail else []
        groups += ["0"] * (8 - len(groups) - len(rest)) + rest
    return ":".join(groups[:4])
