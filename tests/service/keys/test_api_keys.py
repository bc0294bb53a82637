"""Keys: their format and checksum, and what rotating and revoking them changes."""

import re
import string

import pytest

from slotwise.service.keys.api_keys import DAY, digest_of, is_well_formed, make_key, make_secret, revoked, rotated

NOW = 1_700_000_000.0


def test_a_key_has_the_documented_format_and_is_random() -> None:
    secrets = {make_secret() for _ in range(1000)}
    assert len(secrets) == 1000
    assert all(re.fullmatch(r"sw_[0-9A-Za-z]{38}", secret) for secret in secrets)
    assert all(is_well_formed(secret.encode()) for secret in secrets)
    drawn = "".join(secret[3:35] for secret in secrets)
    assert set(drawn) == set(string.ascii_letters + string.digits)


def test_the_checksum_finds_every_wrong_character_and_every_swap_of_two() -> None:
    secret = make_secret()
    for k in range(len(secret)):
        wrong = secret[:k] + ("A" if secret[k] != "A" else "B") + secret[k + 1 :]
        assert not is_well_formed(wrong.encode()), k
    for k in range(3, len(secret) - 1):
        swapped = secret[:k] + secret[k + 1] + secret[k] + secret[k + 2 :]
        assert is_well_formed(swapped.encode()) == (swapped == secret)


@pytest.mark.parametrize("text", ["", "sw_", "sw_" + "A" * 37, "sw_" + "A" * 39, "xx_" + "A" * 38, "sw_" + "é" * 19])
def test_other_text_is_not_a_key(text: str) -> None:
    assert not is_well_formed(text.encode())


def test_only_the_digest_is_kept() -> None:
    new = make_key("web", ("serve",), NOW)
    assert new.key.digest == digest_of(new.secret.encode())
    assert new.secret not in repr(new) + repr(new.key)
    assert new.secret[3:] not in repr(new) + repr(new.key)


@pytest.mark.parametrize(
    ("lifetime", "overlap", "old_ends", "new_ends"),
    [
        (None, DAY, NOW + 2 * DAY, None),
        (90 * DAY, DAY, NOW + 2 * DAY, NOW + 91 * DAY),
        (1.5 * DAY, DAY, NOW + 1.5 * DAY, NOW + 2.5 * DAY),  # it expires before the overlap ends
        (None, 0.0, NOW + DAY, None),
    ],
)
def test_a_rotated_key_is_valid_until_the_overlap_ends(
    lifetime: float | None, overlap: float, old_ends: float, new_ends: float | None
) -> None:
    first = make_key("web", ("browser",), NOW, ("shop",), ("https://shop.example",), 5.0, lifetime)
    old, new = rotated(first.key, NOW + DAY, overlap)
    assert (old.id, old.digest, old.expires) == (first.key.id, first.key.digest, old_ends)
    assert new.key.expires == new_ends
    assert new.key.id != old.id
    same = ("name", "scopes", "pages", "origins", "rate")
    assert [getattr(new.key, name) for name in same] == [getattr(old, name) for name in same]
    assert old.status(old_ends - 1) == "active"
    assert old.status(old_ends) == "expired"


def test_a_key_that_was_revoked_keeps_its_time() -> None:
    key = revoked(make_key("web", ("serve",), NOW).key, NOW + 5)
    assert revoked(key, NOW + 9).revoked == NOW + 5
    assert (key.status(NOW + 4), key.status(NOW + 5)) == ("active", "revoked")
