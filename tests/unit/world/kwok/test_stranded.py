"""Pods that outlive their Node."""

from scaletest.ports.cluster import Change, NodeEvent, PodEvent
from scaletest.world.kwok.stranded import StrandedPods


def _node_goes(stranded: StrandedPods, node: str, at_us: int) -> None:
    stranded.note_nodes([NodeEvent(Change.DELETED, node, "m-1", ready=True, created_us=0)], at_us)


def _pod(change: Change, pod: int = 1, node: str = "n") -> list[PodEvent]:
    return [PodEvent(change, pod, 7, node)]


def test_a_pod_that_goes_before_its_node_is_not_stranded() -> None:
    stranded = StrandedPods()
    stranded.note_pods(_pod(Change.BOUND), 10)
    stranded.note_pods(_pod(Change.DELETED), 20)
    _node_goes(stranded, "n", 30)
    assert stranded.longest_us(9_000) == 0


def test_a_pod_that_goes_after_its_node_was_stranded_in_between() -> None:
    stranded = StrandedPods()
    stranded.note_pods(_pod(Change.ADDED), 10)
    _node_goes(stranded, "n", 30)
    stranded.note_pods(_pod(Change.TERMINATING), 40)
    stranded.note_pods(_pod(Change.DELETED), 100)
    assert stranded.longest_us(9_000) == 70


def test_a_pod_that_never_goes_is_stranded_until_now() -> None:
    stranded = StrandedPods()
    stranded.note_pods(_pod(Change.BOUND), 10)
    _node_goes(stranded, "n", 30)
    assert stranded.longest_us(530) == 500


def test_a_listing_says_who_is_where_whatever_was_missed() -> None:
    stranded = StrandedPods()
    stranded.note_pods(_pod(Change.BOUND, 1, "left"), 10)
    stranded.note_pods(_pod(Change.BOUND, 2, "n"), 10)
    _node_goes(stranded, "left", 20)
    stranded.listed({"n": 1, "missing": 2}, ["n"], 100)
    assert stranded.longest_us(400) == 300
