"""Units. A unit, such as a visitor, always gets the same variant. A keyed hash of the unit decides, so none is stored.

The key is a secret of the page. Without it, the bucket of a unit cannot be computed, and the buckets of two pages are
independent. A hash cannot be inverted, and many units share a bucket.
"""

from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from slotwise.service.pages.page_definition import PageSpec

N_BUCKETS = 512
SECRET_BYTES = 48
_OWN_BUCKET_HASH = 32  # bytes of the secrets of older pages: their buckets come from a hash of their own
_UNIFORM = 2.0**-53
_halves = Struct(">QQ").unpack


class HashedUnit(NamedTuple):
    """Two numbers that are uniform in [0, 1), and a bucket. The three are independent."""

    first: float
    second: float
    bucket: int


class UnitHash:
    """The hash of the units of one page."""

    def __init__(self, secret: bytes) -> None:
        self._keyed = blake2b(key=secret, digest_size=16, person=b"slotwise variant")  # copies save the time of the key
        self._keyed_bucket = None
        if len(secret) == _OWN_BUCKET_HASH:
            self._keyed_bucket = blake2b(key=secret, digest_size=8, person=b"slotwise bucket")

    def __call__(self, unit: bytes) -> HashedUnit:
        """Hash a unit. The bucket is made of other bits of the hash than the numbers."""
        keyed = self._keyed.copy()
        keyed.update(unit)
        first, second = _halves(keyed.digest())
        bucket = second
        if self._keyed_bucket is not None:
            keyed = self._keyed_bucket.copy()
            keyed.update(unit)
            bucket = int.from_bytes(keyed.digest())
        return HashedUnit((first >> 11) * _UNIFORM, (second >> 11) * _UNIFORM, bucket % N_BUCKETS)


def allocate(spec: PageSpec, first: float, second: float) -> str:
    """The variant for two numbers that are uniform in [0, 1): one for the holdout, and one for the rest.

    With two numbers, a change of one share moves only as many units as it must: a larger holdout takes units from both
    other variants, and none of them moves between these.
    """
    if first < spec.holdout:
        return "holdout"
    return "learnt" if second < spec.learnt_share else "default"
