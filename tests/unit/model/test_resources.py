"""Resource vectors: equality does not depend on how they were written, and the arithmetic obeys its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import Resources

_names = st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"])
_vectors = st.dictionaries(_names, st.integers(0, 10**12)).map(Resources.of)


def test_equal_vectors_compare_equal_whatever_their_order_and_zeros() -> None:
    assert Resources.of({"memory": 2, "cpu": 1, "nvidia.com/gpu": 0}) == Resources.of({"cpu": 1, "memory": 2})
    assert not Resources.of({"cpu": 0})
    assert Resources.of({"memory": 2, "cpu": 1}).names() == ("cpu", "memory")


def test_a_dimension_that_is_not_named_reads_as_zero() -> None:
    assert Resources.of({"cpu": 1})["memory"] == 0


def test_negative_amounts_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="negative amount of cpu, memory"):
        Resources.of({"memory": -1, "cpu": -2, "x": 1})


def test_nothing_asks_for_nothing() -> None:
    assert Resources.of({"cpu": 5}).how_many(Resources()) is None
    assert Resources().covers(Resources())


def test_how_many_is_limited_by_the_scarcest_dimension() -> None:
    offer = Resources.of({"cpu": 1000, "memory": 70})
    assert offer.how_many(Resources.of({"cpu": 100, "memory": 10})) == 7
    assert offer.how_many(Resources.of({"cpu": 1, "nvidia.com/gpu": 1})) == 0


@given(_vectors, _vectors, _vectors)
def test_addition_is_associative_and_commutative(a: Resources, b: Resources, c: Resources) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Resources() == a


@given(_vectors, _vectors)
def test_minus_undoes_plus_and_never_goes_below_zero(a: Resources, b: Resources) -> None:
    assert (a + b).minus(b) == a
    assert all(amount > 0 for _, amount in a.minus(b))


@given(_vectors, st.integers(0, 50))
def test_times_is_repeated_addition(a: Resources, count: int) -> None:
    total = Resources()
    for _ in range(count):
        total += a
    assert a.times(count) == total


@given(_vectors, _vectors)
def test_the_peak_covers_both_and_nothing_smaller_does(a: Resources, b: Resources) -> None:
    peak = a.peak(b)
    assert peak.covers(a)
    assert peak.covers(b)
    assert all(amount in {a[name], b[name]} for name, amount in peak)


@given(_vectors, _vectors)
def test_as_many_fit_as_how_many_says_and_not_one_more(offer: Resources, each: Resources) -> None:
    count = offer.how_many(each)
    if count is None:
        assert not each
    else:
        assert offer.covers(each.times(count))
        assert not offer.covers(each.times(count + 1))
