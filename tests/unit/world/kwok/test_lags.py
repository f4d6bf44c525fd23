"""Replacements paired with what they replace."""

from scaletest.ports.cluster import Change, PodEvent
from scaletest.world.kwok.lags import ReplacementLags


def _noted(*seen: tuple[Change, int, int]) -> ReplacementLags:
    lags = ReplacementLags()
    lags.note([PodEvent(Change.ADDED, 1, 7)], 5)
    lags.start()
    for change, owner, at_us in seen:
        lags.note([PodEvent(change, 1, owner)], at_us)
    return lags


def test_a_replacement_that_comes_before_the_pod_is_gone_has_a_lag_below_zero() -> None:
    lags = _noted((Change.TERMINATING, 7, 90), (Change.ADDED, 7, 100), (Change.BOUND, 7, 110), (Change.DELETED, 7, 130))
    assert lags.lags_us == [-30]


def test_a_replacement_that_comes_later_has_a_lag_above_zero_and_owners_are_kept_apart() -> None:
    lags = _noted((Change.DELETED, 7, 100), (Change.ADDED, 8, 105), (Change.ADDED, 7, 120), (Change.DELETED, 8, 106))
    assert lags.lags_us == [20, -1]


def test_several_at_once_are_paired_first_with_first() -> None:
    deleted = [(Change.DELETED, 7, at_us) for at_us in (100, 110)]
    added = [(Change.ADDED, 7, at_us) for at_us in (115, 140, 150)]
    lags = _noted(*deleted, *added)
    assert lags.lags_us == [15, 30]
    assert lags.summary()["count"] == 2
    assert lags.summary()["p50_us"] == 30


def test_nothing_is_summed_up_as_nothing() -> None:
    assert _noted().summary() == {"count": 0}
