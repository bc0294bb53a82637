"""Addresses of services."""

import pytest

from slotwise.checks import BadInput
from slotwise.client.address import Address


def test_an_address_is_taken_apart() -> None:
    plain = Address.of("http://127.0.0.1:8000/")
    assert plain == Address("http://127.0.0.1:8000", "127.0.0.1", 8000, False, "")
    assert plain.host_header == "127.0.0.1:8000"
    secure = Address.of("https://shop.example/learn")
    assert (secure.port, secure.secure, secure.prefix) == (443, True, "/learn")
    assert Address.of("http://[::1]:81").host_header == "[::1]:81"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x:y", "http://x/?a=b", "http://x:99999"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match=r"is not the address of a service, such as http://127\.0\.0\.1:8000"):
        Address.of(url)
