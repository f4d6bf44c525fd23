"""Keyed draws: pinned values show any change of the generator, and no draw hangs on another."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import Stream


def test_the_generator_is_splitmix64() -> None:
    # The published sequence of SplitMix64 from state 1234567.
    stream = Stream(1234567)
    assert [stream.bits(n) for n in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_fixed_draws_of_a_fixed_key_never_change() -> None:
    stream = Stream.of(1, "churn", "cluster-0000")
    assert stream.key == 12995241802618290225
    assert [stream.below(1000, n) for n in range(8)] == [192, 823, 559, 202, 230, 733, 793, 350]
    assert [stream.between(3, 5, n) for n in range(8)] == [3, 5, 4, 3, 3, 5, 5, 4]
    assert [stream.chance(0.25, n) for n in range(8)] == [True, False, False, True, True, False, False, False]
    assert [stream.weighted([55, 30, 12, 3], n) for n in range(8)] == [0, 1, 1, 0, 0, 1, 1, 0]


def test_draws_of_a_fixed_stream_fill_their_range_evenly() -> None:
    stream = Stream.of(1, "uniform")
    counts = Counter(stream.below(10, n) for n in range(100_000))
    # Standard deviation of a cell is 95; five of them is what a sound generator does not leave.
    assert sorted(counts) == list(range(10))
    assert max(abs(count - 10_000) for count in counts.values()) < 475


def test_weights_are_kept_and_weight_zero_is_never_drawn() -> None:
    stream = Stream.of(1, "weights")
    counts = Counter(stream.weighted([0, 70, 0, 30], n) for n in range(10_000))
    assert set(counts) == {1, 3}
    assert abs(counts[1] - 7_000) < 250


def test_chance_is_never_at_zero_and_always_at_one() -> None:
    stream = Stream.of(1, "chance")
    assert not any(stream.chance(0.0, n) for n in range(1000))
    assert all(stream.chance(1.0, n) for n in range(1000))


@given(st.integers(0, 2**63), st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_draw_stays_below_its_bound(key: int, bound: int, ordinal: int) -> None:
    stream = Stream(key)
    assert 0 <= stream.below(bound, ordinal) < bound
    assert 0 <= stream.unit(ordinal) < 1
    assert -bound <= stream.between(-bound, bound, ordinal) <= bound


@pytest.mark.parametrize(
    "other",
    [
        Stream.of(2, "churn", "cluster-0000", 7),
        Stream.of(1, "size", "cluster-0000", 7),
        Stream.of(1, "churn", "cluster-0001", 7),
        Stream.of(1, "churn", "cluster-0000", 8),
        Stream.of(1, "churn", "cluster-000", "07"),
        Stream.of(1, "churn", "cluster-00007"),
        Stream.of(1, "churncluster-0000", 7),
        Stream.of(11, "churn", "cluster-0000", 7),
    ],
)
def test_every_part_of_the_key_makes_another_stream(other: Stream) -> None:
    stream = Stream.of(1, "churn", "cluster-0000", 7)
    assert stream.key != other.key
    assert not any(stream.bits(n) == other.bits(n) for n in range(100))


def test_neighbouring_streams_agree_no_more_often_than_chance() -> None:
    ones = [Stream.of(1, "machine", cluster) for cluster in range(2)]
    agreements = sum(ones[0].below(2, n) == ones[1].below(2, n) for n in range(10_000))
    assert abs(agreements - 5_000) < 250
