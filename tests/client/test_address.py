"""Addresses of services."""

import pytest

from slotwise.checks import BadInput
from slotwise.client.address import ServiceAddress


def test_an_address_is_parsed() -> None:
    plain = ServiceAddress.of("http://127.0.0.1:8000/")
    assert plain == ServiceAddress("http://127.0.0.1:8000", "127.0.0.1", 8000, False, "")
    assert plain.host_header == "127.0.0.1:8000"
    secure = ServiceAddress.of("https://shop.example/learn")
    assert (secure.port, secure.secure, secure.prefix) == (443, True, "/learn")
    assert ServiceAddress.of("http://[::1]:81").host_header == "[::1]:81"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x:y", "http://x/?a=b", "http://x:99999"]
)
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(BadInput, match=r"--url .*http://127\.0\.0\.1:8000"):
        ServiceAddress.of(url)
