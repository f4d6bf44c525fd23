"""Penalty buckets: the table of the engine reference, and rounding that only ever goes up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import MICRO_USD, PenaltyBucket, micro_usd, penalty_bucket
from scaletest.model.money import PINNED


@pytest.mark.parametrize(
    ("dollars", "ordinal", "label"),
    [
        (0, 1, "0"),
        (0.000001, 2, "0.5"),
        (0.5, 2, "0.5"),
        (0.51, 3, "1"),
        (1, 3, "1"),
        (1.01, 4, "2"),
        (2, 4, "2"),
        (2.000001, 5, "4"),
        (8, 6, "8"),
        (8000, 16, "8192"),
        (8192, 16, "8192"),
        (8_388_608, 26, "8388608"),
        (8_388_608.000001, 27, "pinned"),
        (20_000_000, 27, "pinned"),
    ],
)
def test_a_penalty_rounds_up_to_its_bucket(dollars: float, ordinal: int, label: str) -> None:
    bucket = penalty_bucket(micro_usd(dollars))
    assert (bucket.ordinal, bucket.label) == (ordinal, label)


def test_bounds_are_zero_a_half_and_the_powers_of_two() -> None:
    bounds = [PenaltyBucket(ordinal).bound_uusd for ordinal in range(1, PINNED + 1)]
    assert bounds == [0, MICRO_USD // 2, *(MICRO_USD * 2**n for n in range(24)), None]
    assert PINNED == 27


def test_a_negative_penalty_counts_as_nothing() -> None:
    assert penalty_bucket(-1) == PenaltyBucket(1)


@given(st.integers(0, 10**14))
def test_the_bound_holds_the_amount_and_the_bucket_below_does_not(amount_uusd: int) -> None:
    bucket = penalty_bucket(amount_uusd)
    bound = bucket.bound_uusd
    assert bound is None or amount_uusd <= bound
    if bucket.ordinal > 1:
        below = PenaltyBucket(bucket.ordinal - 1).bound_uusd
        assert below is not None
        assert amount_uusd > below


@pytest.mark.parametrize(("dollars", "uusd"), [(0.1, 100_000), (0.3, 300_000), (1.1, 1_100_000), (4096, 4_096_000_000)])
def test_dollars_become_the_micro_dollars_that_were_written(dollars: float, uusd: int) -> None:
    assert micro_usd(dollars) == uusd
