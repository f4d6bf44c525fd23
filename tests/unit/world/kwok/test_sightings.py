"""Objects as they are seen, again and again and in any order, and what is told of them: every change once."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fake_servers import node, pod, request_for
from scaletest.ports.cluster import SEATS, Change, Gone, NodeEvent, PodEvent
from scaletest.world.kwok.sightings import PodNumbers, Sightings

FIRST = SEATS


def _sightings(removed: dict[str, bool] | None = None) -> Sightings:
    return Sightings(PodNumbers(), removed or {})


def _told(sightings: Sightings, *seen: tuple[str, dict[str, Any]]) -> list[Change]:
    return [event.change for kind, each in seen for event in sightings.pod(kind, each)]


def test_a_pods_life_is_told_step_by_step_however_often_each_is_seen() -> None:
    waiting, bound = pod("u", 1), pod("u", 2, node="n")
    leaving = pod("u", 3, node="n", leaving=True)
    seen = [("ADDED", waiting), ("ADDED", waiting), ("MODIFIED", waiting), ("MODIFIED", bound), ("MODIFIED", bound)]
    seen += [("MODIFIED", leaving), ("MODIFIED", leaving), ("DELETED", leaving), ("DELETED", leaving)]

    assert _told(_sightings(), *seen) == [Change.ADDED, Change.BOUND, Change.TERMINATING, Change.DELETED]


def test_a_pod_that_is_first_seen_late_is_added_as_it_is_then() -> None:
    sightings = _sightings()
    events = list(sightings.pod("MODIFIED", pod("u", 9, owner=4, node="n", leaving=True)))

    assert events == [
        PodEvent(Change.ADDED, FIRST, 4, "n"),
        PodEvent(Change.TERMINATING, FIRST, 4, "n", Gone.DELETED),
    ]


def test_a_pod_that_is_first_seen_deleted_is_not_told_of_and_keeps_no_seat() -> None:
    sightings = _sightings()

    assert list(sightings.pod("DELETED", pod("u", 1))) == []
    (added,) = sightings.pod("ADDED", pod("v", 2))
    assert added.pod == 2 * SEATS, "the seat is free again, the serial is used up"


def test_pods_of_nobody_we_know_are_not_looked_at() -> None:
    sightings, foreign = _sightings(), pod("u", 1)
    foreign["metadata"]["labels"] = {"scaletest.dev/owner": "web"}
    other = pod("v", 1)
    del other["metadata"]["labels"]

    assert _told(sightings, ("ADDED", foreign), ("ADDED", other), ("DELETED", other)) == []
    listing = sightings.listed([foreign, other], [], (), 5)
    assert listing.pods.tolist() == []


def test_seats_are_used_again_and_ids_are_not() -> None:
    sightings = _sightings()
    ids = []
    for uid in "abcdef":
        (added,) = sightings.pod("ADDED", pod(uid, 1))
        ids.append(added.pod)
        if uid in "bde":
            list(sightings.pod("DELETED", pod(uid, 2)))

    assert [each % SEATS for each in ids] == [0, 1, 1, 2, 2, 2]
    assert ids == sorted(ids)
    assert len({*ids}) == len(ids)


@given(st.lists(st.integers(0, 6), max_size=40))
def test_no_two_pods_that_are_there_share_a_seat_whoever_comes_and_goes(steps: list[int]) -> None:
    numbers, there = PodNumbers(), dict[int, int]()
    last = 0
    for serial, step in enumerate(steps):
        if step in there:
            gone = numbers.with_number(there.pop(step))
            assert gone is not None
            numbers.drop(gone)
        else:
            there[step] = numbers.of({"uid": f"{step}-{serial}", "name": "p"}, 1).number
            assert there[step] > last
            last = there[step]
        seats = [number % SEATS for number in there.values()]
        assert len({*seats}) == len(seats)
        assert max(seats, default=0) <= 6


def test_a_request_is_told_once_and_that_it_goes_is_no_news() -> None:
    sightings = _sightings()
    list(sightings.pod("ADDED", pod("u", 1, owner=3)))
    events = [
        event for kind in ("ADDED", "MODIFIED", "DELETED") for event in sightings.request(kind, request_for("u", 2))
    ]

    assert events == [PodEvent(Change.REQUESTED, FIRST, 3)]


def test_a_request_that_is_seen_before_its_pod_is_told_after_it() -> None:
    sightings = _sightings()

    assert list(sightings.request("ADDED", request_for("u", 1))) == []
    assert _told(sightings, ("ADDED", pod("u", 2)), ("MODIFIED", pod("u", 3))) == [Change.ADDED, Change.REQUESTED]
    assert list(sightings.request("MODIFIED", request_for("u", 4))) == []


def test_a_request_that_outlives_its_pod_is_forgotten_when_it_goes() -> None:
    sightings = _sightings()
    assert _told(sightings, ("ADDED", pod("u", 1)), ("DELETED", pod("u", 2))) == [Change.ADDED, Change.DELETED]

    assert list(sightings.request("MODIFIED", request_for("u", 3))) == []
    assert list(sightings.request("DELETED", request_for("u", 4))) == []
    assert sightings.early == {}


def test_a_request_of_nobody_is_not_looked_at() -> None:
    assert list(_sightings().request("ADDED", {"metadata": {"name": "r"}})) == []


def test_what_a_listing_shows_is_told_and_only_what_follows_is_news() -> None:
    sightings = _sightings()
    pods = [pod("a", 1), pod("b", 2, node="n"), pod("c", 3, node="n", leaving=True)]
    listing = sightings.listed(pods, [request_for("b", 4)], (), 10)

    assert listing.revision == 10
    assert listing.nodes == ("", "n", "n")
    assert listing.requested.tolist() == [0, 1, 0]
    assert listing.terminating.tolist() == [listing.pods[2]]
    seen = [("MODIFIED", each) for each in pods]
    assert _told(sightings, *seen) == []
    assert list(sightings.request("ADDED", request_for("b", 4))) == []
    changed = [("MODIFIED", pod("a", 11, node="n")), ("DELETED", pods[2])]
    assert _told(sightings, *changed) == [Change.BOUND, Change.DELETED]


def test_a_request_that_was_listed_with_a_pod_that_was_not_is_told_with_the_pod() -> None:
    """Pods are listed first, so a Pod may be made in between, and its request too."""
    sightings = _sightings()
    sightings.listed([pod("a", 1)], [request_for("a", 2), request_for("b", 3)], (), 1)

    assert _told(sightings, ("ADDED", pod("b", 2))) == [Change.ADDED, Change.REQUESTED]
    assert sightings.early == {}


def test_a_pod_that_goes_while_a_list_is_read_does_not_come_back_with_it() -> None:
    numbers = PodNumbers()
    going, staying = (numbers.of(pod(uid, 1)["metadata"], 1) for uid in "ab")
    with numbers.reading() as gone, numbers.reading() as also_gone:
        numbers.drop(going)
    assert [*gone] == [*also_gone] == ["a"]

    with numbers.reading() as nobody:
        pass
    numbers.drop(staying)
    assert [*nobody] == []


def test_a_listing_keeps_its_own_pods_and_those_that_got_a_number_after_it() -> None:
    numbers = PodNumbers()
    lost, listed = (numbers.of(pod(uid, 1)["metadata"], 1) for uid in "ab")
    newest = numbers.newest
    later = numbers.of(pod("c", 1)["metadata"], 1)

    numbers.keep({listed.number: None}, newest=newest)

    assert [numbers.with_number(each.number) for each in (lost, listed, later)] == [None, listed, later]
    assert numbers.with_uid("a") is None


def test_why_a_pod_goes_is_read_from_its_conditions_or_its_node() -> None:
    sightings = _sightings({"lost": True, "taken": False})
    cases = [
        (pod("a", 1, node="n", leaving=True, reason="EvictionByEvictionAPI"), Gone.EVICTED),
        (pod("b", 1, node="n", leaving=True), Gone.DELETED),
        (pod("c", 1, node="lost", leaving=True), Gone.NODE_LOST),
        (pod("d", 1, node="taken", leaving=True), Gone.EVICTED),
        (pod("e", 1, node="lost", leaving=True, reason="EvictionByEvictionAPI"), Gone.EVICTED),
    ]
    for seen, reason in cases:
        _, terminating = sightings.pod("ADDED", seen)
        (deleted,) = sightings.pod("DELETED", seen)
        assert (terminating.reason, deleted.reason) == (reason, reason)


def test_a_nodes_life_is_told_step_by_step_however_often_each_is_seen() -> None:
    sightings = _sightings()
    fresh, ready = node("n", 1, ready=False), node("n", 2)
    cordoned = node("n", 3, cordoned=True)
    seen = [("ADDED", fresh), ("MODIFIED", fresh), ("MODIFIED", ready), ("MODIFIED", ready), ("MODIFIED", cordoned)]
    seen += [("MODIFIED", cordoned), ("DELETED", cordoned)]
    events = [event for kind, each in seen for event in sightings.node(kind, each)]

    assert [event.change for event in events] == [Change.ADDED, Change.READY, Change.CORDONED, Change.DELETED]
    assert events[0] == NodeEvent(Change.ADDED, "n", "machine-of-n", ready=False, created_us=7)
    assert events[1].ready


def test_a_node_that_is_first_seen_late_is_added_ready_and_cordoned() -> None:
    events = list(_sightings().node("MODIFIED", node("n", 9, cordoned=True)))

    assert [(event.change, event.ready) for event in events] == [(Change.ADDED, True), (Change.CORDONED, True)]


def test_a_node_with_no_machine_of_ours_is_not_looked_at() -> None:
    foreign = node("n", 1)
    foreign["metadata"]["labels"] = {}

    assert list(_sightings().node("ADDED", foreign)) == []
