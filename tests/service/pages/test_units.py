"""A keyed hash gives units their variant and bucket: evenly, independently, and without a way back to the unit."""

from hashlib import blake2b

import numpy as np
import pytest
from scipy.stats import chi2

from slotwise.checks import Ints
from slotwise.service.pages.page_definition import PageSpec
from slotwise.service.pages.units import N_BUCKETS, SECRET_BYTES, UnitHash, allocate

UNITS = [f"visitor-{k}".encode() for k in range(51_200)]
ALARM = 1e-6  # the probability that a correct hash fails a test
VARIANTS = ["holdout", "learnt", "default"]


def buckets(secret: bytes) -> Ints:
    hashed = UnitHash(secret)
    return np.array([hashed(unit).bucket for unit in UNITS])


def variants(secret: bytes, holdout: float = 0.25, learnt_share: float = 0.5) -> Ints:
    spec, hashed = PageSpec(holdout=holdout, learnt_share=learnt_share), UnitHash(secret)
    return np.array([VARIANTS.index(allocate(spec, *hashed(unit)[:2])) for unit in UNITS])


def chi_squared(observed: np.ndarray, expected: np.ndarray, degrees: int) -> float:
    """The p-value of the statistic of Pearson."""
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), degrees))


def p_of_independence(first: Ints, second: Ints, sizes: tuple[int, int]) -> float:
    """The p-value of the test that the rows and columns of a table of counts are independent."""
    table = np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1]).reshape(sizes)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return chi_squared(table, expected, (sizes[0] - 1) * (sizes[1] - 1))


def test_buckets_and_variants_are_evenly_spread() -> None:
    """A chi-squared test each. A hash that is even fails one of them with probability 2e-6."""
    counts = np.bincount(buckets(b"secret"), minlength=N_BUCKETS)
    assert chi_squared(counts, np.full(N_BUCKETS, len(UNITS) / N_BUCKETS), N_BUCKETS - 1) > ALARM
    shares = np.array([0.25, 0.375, 0.375])
    assert chi_squared(np.bincount(variants(b"secret"), minlength=3), shares * len(UNITS), 2) > ALARM


def test_a_spread_that_is_a_little_uneven_is_found() -> None:
    """Negative control: the first of the 512 buckets takes every fifth unit of the second."""
    uneven = buckets(b"secret")
    uneven[(uneven < 64) & (np.arange(uneven.size) % 5 == 0)] = 0
    counts = np.bincount(uneven, minlength=N_BUCKETS)
    assert chi_squared(counts, np.full(N_BUCKETS, len(UNITS) / N_BUCKETS), N_BUCKETS - 1) < ALARM


def test_variant_and_bucket_are_independent_and_so_are_pages() -> None:
    """Pages have their own secrets, as stores have. Each of three tests fails by chance with probability 1e-6."""
    ours, theirs = buckets(b"of one page"), buckets(b"of another page")
    assert p_of_independence(variants(b"of one page"), ours, (3, N_BUCKETS)) > ALARM
    assert p_of_independence(variants(b"of one page"), variants(b"of another page"), (3, 3)) > ALARM
    coarse = 16  # 512 x 512 cells would have too few units each
    assert p_of_independence(ours % coarse, theirs % coarse, (coarse, coarse)) > ALARM
    assert (ours == theirs).mean() == pytest.approx(1 / N_BUCKETS, rel=0.5)  # 5 standard errors
    assert p_of_independence(ours % coarse, ours % coarse, (coarse, coarse)) < ALARM  # negative control


def test_a_unit_keeps_its_place() -> None:
    assert (buckets(b"secret") == buckets(b"secret")).all()
    assert UnitHash(b"secret")("Ägypten ✈".encode()) == UnitHash(b"secret")("Ägypten ✈".encode())


@pytest.mark.parametrize("size", [32, SECRET_BYTES])
def test_units_of_stores_in_use_keep_their_variants_and_buckets(size: int) -> None:
    """The numbers follow from their definition, written in another way. Older pages have secrets of 32 bytes."""
    secret, unit = bytes(range(size)), b"visitor-1"
    first, second, bucket = UnitHash(secret)(unit)
    digest = blake2b(unit, key=secret, digest_size=16, person=b"slotwise variant").hexdigest()
    assert first == pytest.approx(int(digest[:16], 16) / 2**64, abs=2**-52)
    assert second == pytest.approx(int(digest[16:], 16) / 2**64, abs=2**-52)
    own = blake2b(unit, key=secret, digest_size=8, person=b"slotwise bucket").hexdigest()
    assert bucket == int((own if size == 32 else digest)[-3:], 16) % N_BUCKETS


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        pytest.param((0.1, 1.0), (0.3, 1.0), 0.2, id="a larger holdout"),
        pytest.param((0.3, 1.0), (0.1, 1.0), 0.2, id="a smaller holdout"),
        pytest.param((0.2, 0.1), (0.2, 0.6), 0.8 * 0.5, id="a ramp"),
        pytest.param((0.1, 0.5), (0.3, 0.5), 0.2, id="a larger holdout during a ramp"),
        pytest.param((0.0, 1.0), (1.0, 1.0), 1.0, id="everything"),
    ],
)
def test_changed_shares_move_only_the_units_that_must_move(
    before: tuple[float, float], after: tuple[float, float], moved: float
) -> None:
    """The shares of the variants change by `moved` in total, so no rule can move fewer units. 5 standard errors."""
    old, new = variants(b"secret", *before), variants(b"secret", *after)
    assert (old != new).mean() == pytest.approx(moved, abs=0.011)
    for variant in range(3):
        left, joined = (old == variant) & (new != variant), (old != variant) & (new == variant)
        assert not (left.any() and joined.any()), "a variant loses units or gains units, never both"


def test_the_limits_of_the_shares() -> None:
    assert allocate(PageSpec(holdout=0.0), 0.0, 0.999) == "learnt"
    assert allocate(PageSpec(holdout=1.0), 1.0 - 2.0**-53, 0.0) == "holdout"
    assert allocate(PageSpec(learnt_share=0.0), 0.0, 0.0) == "default"
