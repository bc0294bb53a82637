"""Units. A unit, such as a visitor, always gets the same variant. Keyed hashes of the unit decide, so none is stored.

The key is a secret of the page. Without it, the bucket of a unit cannot be computed, and the buckets of two pages are
independent. A hash cannot be inverted, and many units share a bucket.
"""

from hashlib import blake2b

from slotwise.service.pages.page_definition import PageSpec

N_BUCKETS = 512
_UNIFORM = 2.0**-53


def bucket_of(unit: bytes, secret: bytes) -> int:
    """The bucket of a unit. It says nothing about the variant: `person` makes independent hashes of one key."""
    return int.from_bytes(blake2b(unit, key=secret, digest_size=8, person=b"slotwise bucket").digest()) % N_BUCKETS


def variant_of(unit: bytes, secret: bytes, spec: PageSpec) -> str:
    """The variant of a unit on a page that learns."""
    digest = blake2b(unit, key=secret, digest_size=16, person=b"slotwise variant").digest()
    return allocate(spec, _uniform(digest[:8]), _uniform(digest[8:]))


def allocate(spec: PageSpec, first: float, second: float) -> str:
    """The variant for two numbers that are uniform in [0, 1): one for the holdout, and one for the rest.

    With two numbers, a change of one share moves only as many units as it must: a larger holdout takes units from both
    other variants, and none of them moves between these.
    """
    if first < spec.holdout:
        return "holdout"
    return "learnt" if second < spec.learnt_share else "default"


def _uniform(digest: bytes) -> float:
    """A number in [0, 1) from 8 bytes."""
    return (int.from_bytes(digest) >> 11) * _UNIFORM
