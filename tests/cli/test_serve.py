"""`slotwise serve` rejects invalid options; tests/service has the tests of the service."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dev", "--host", "0.0.0.0"], ["keys", "127.0.0.1"]),
        (["--dev", "--store", "mysql://shop"], ["mysql://shop", "sqlite:///PATH"]),
        (["--dev", "--store", "sqlite:///nowhere/at/all/shop.db"], ["nowhere/at/all"]),
    ],
)
def test_invalid_options_are_rejected(arguments: list[str], named: list[str], slotwise) -> None:
    slotwise("serve", *arguments).assert_refused(*named)
