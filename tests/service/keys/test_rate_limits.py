"""Rate limits: how many requests they allow, for how long others wait, and how many addresses they remember."""

import pytest

from slotwise.service.keys import rate_limits
from slotwise.service.keys.rate_limits import AddressLimits, RateLimit, network_of


def allowed(limit: RateLimit, times: list[float]) -> int:
    return sum(limit.take(now) == 0.0 for now in times)


@pytest.mark.parametrize(("rate", "burst"), [(5.0, 5.0), (100.0, 100.0), (10.0, 100.0)])
def test_a_burst_passes_and_then_the_rate(rate: float, burst: float) -> None:
    limit = RateLimit(rate, burst)
    assert allowed(limit, [1000.0] * 500) == burst
    every_millisecond = [1000.0 + k / 1000 for k in range(1, 10_001)]
    assert abs(allowed(limit, every_millisecond) - 10 * rate) <= 1


def test_a_rate_below_one_allows_single_requests() -> None:
    limit = RateLimit(0.5, 0.5)
    assert limit.take(10.0) == 0.0
    assert limit.take(11.0) == pytest.approx(1.0)
    assert limit.take(12.0) == 0.0


def test_after_the_wait_a_request_is_allowed() -> None:
    limit = RateLimit(3.0, 3.0)
    allowed(limit, [50.0] * 3)
    wait = limit.take(50.0)
    assert 0.0 < wait <= 1 / 3 + 1e-9
    assert limit.take(50.0 + wait + 1e-9) == 0.0


def test_addresses_have_limits_of_their_own() -> None:
    limits = AddressLimits(1.0, 2.0)
    assert [limits.take("10.0.0.1", 5.0) == 0.0 for _ in range(3)] == [True, True, False]
    assert limits.take("10.0.0.2", 5.0) == 0.0


def test_few_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MOST_ADDRESSES", 10)
    limits = AddressLimits(1.0, 1.0)
    for k in range(100):
        limits.take(f"10.0.0.{k}", 5.0)
    assert len(limits._limits) == 10


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"),
        ("2001:db8:1:2::9", "2001:db8:1:2"),
        ("::1", "0:0:0:0"),
        ("fe80::1%eth0", "fe80:0:0:0"),
        ("::ffff:10.1.2.3", "10.1.2.3"),  # an IPv4 client of an IPv6 socket
        ("::FFFF:10.1.2.3", "10.1.2.3"),
        ("64:ff9b::10.1.2.3", "64:ff9b:0:0"),
        ("", ""),
    ],
)
def test_an_ipv6_address_stands_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_reservation_delays_what_is_above_the_rate() -> None:
    limit = RateLimit(10.0, 5.0)
    delays = [limit.reserve(100.0, 1.0) for _ in range(50)]
    assert delays[:5] == pytest.approx([0.0] * 5)
    assert delays[5:15] == pytest.approx([0.1 * k for k in range(1, 11)])
    assert max(delays) <= 1.0 + 1e-9
    assert limit.reserve(200.0, 1.0) == 0.0
