"""Replacements paired with what they replace."""

from scaletest.ports.cluster import Change, PodEvent
from scaletest.world.kwok.lags import ReplacementLags


def _noted(*seen: tuple[Change, int, int, int]) -> ReplacementLags:
    """Note what happened to a Pod of an owner at an instant, after a Pod had come before the beginning."""
    lags = ReplacementLags()
    lags.note([PodEvent(Change.ADDED, 1, 7)], 5)
    lags.start()
    for change, pod, owner, at_us in seen:
        lags.note([PodEvent(change, pod, owner)], at_us)
    return lags


def test_a_replacement_that_comes_before_the_pod_is_gone_has_a_lag_below_zero() -> None:
    lags = _noted((Change.TERMINATING, 1, 7, 90), (Change.ADDED, 2, 7, 100), (Change.DELETED, 1, 7, 130))
    assert lags.lags_us == [-30]


def test_a_replacement_that_comes_later_has_a_lag_above_zero_and_owners_are_kept_apart() -> None:
    lags = _noted((Change.DELETED, 1, 7, 100), (Change.ADDED, 9, 8, 105), (Change.ADDED, 2, 7, 120))
    assert lags.lags_us == [20]


def test_several_at_once_are_paired_first_with_first_whatever_goes_on_longer() -> None:
    lags = _noted(
        (Change.TERMINATING, 1, 7, 100),
        (Change.TERMINATING, 2, 7, 101),
        (Change.ADDED, 3, 7, 110),
        (Change.DELETED, 2, 7, 115),
        (Change.ADDED, 4, 7, 120),
        (Change.DELETED, 1, 7, 140),
    )
    assert lags.lags_us == [5, -30]
    assert lags.summary() == {"count": 2, "p01_us": -30, "p10_us": -30, "p50_us": 5, "p90_us": 5, "p99_us": 5}


def test_a_pod_that_began_to_go_before_the_beginning_is_not_given_the_next_ones_replacement() -> None:
    lags = ReplacementLags()
    lags.note([PodEvent(Change.TERMINATING, 1, 7), PodEvent(Change.ADDED, 2, 7)], 5)
    lags.start()
    for change, pod, at_us in ((Change.DELETED, 1, 10), (Change.TERMINATING, 2, 50), (Change.ADDED, 3, 52)):
        lags.note([PodEvent(change, pod, 7)], at_us)
    lags.note([PodEvent(Change.DELETED, 2, 7)], 60)
    assert lags.lags_us == [-5, -8]


def test_nothing_is_summed_up_as_nothing() -> None:
    assert _noted((Change.ADDED, 2, 7, 9)).summary() == {"count": 0}
