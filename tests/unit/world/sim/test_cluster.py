import asyncio

import pytest

from scaletest.model.demand import RACK_KEY
from scaletest.ports.cluster import SEATS, Answer, Change, Gone, NodeEvent, Owner
from sim_clusters import API_US, BIND_US, ITEM_US, READY_US, SECOND_US, Stage, machine, owner, world


async def _filled(stage: Stage, replicas: int = 2) -> list[int]:
    """Put an owner's Pods on Node n."""
    await stage.add_nodes(machine("n"))
    await stage.cluster.create_owners([owner(1, replicas)], [["n"] * replicas])
    return stage.pods()


def test_a_call_takes_its_latency_and_a_little_for_every_item() -> None:
    stage = Stage()

    async def story() -> list[int]:
        instants = [stage.loop.now_us()]
        await stage.cluster.list()
        instants.append(stage.loop.now_us())
        await stage.cluster.delete_pods([1, 2, 3])
        return [*instants, stage.loop.now_us()]

    assert stage.run(story) == [0, API_US, 2 * API_US + 3 * ITEM_US]


def test_pods_can_be_created_where_they_are_wanted_and_the_others_are_scheduled() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n"), machine("o"))
        await stage.cluster.create_owners([owner(1, 3)], [["o", "o"]])
        assert stage.cluster.bound_ready == 2
        await stage.sleep(1)

    stage.run(story)

    assert [(e.change, e.node) for e in stage.pod_events()] == [
        (Change.ADDED, "o"),
        (Change.ADDED, "o"),
        (Change.ADDED, ""),
        (Change.BOUND, "n"),
    ]
    assert (stage.cluster.live, stage.cluster.bound_ready, stage.cluster.nodes) == (3, 3, 2)


def test_pods_that_are_created_together_take_free_seats_first_and_new_ones_after() -> None:
    stage = Stage()

    async def story() -> list[int]:
        old = await _filled(stage)
        await stage.cluster.delete_owners([1])
        await stage.cluster.create_owners([owner(2, 5), owner(3, 2)], [["n"] * 5, ["n"] * 2])
        return old

    old = stage.run(story)

    created = [event.pod for event in stage.pod_events(Change.ADDED)][len(old) :]
    assert [pod % SEATS for pod in created] == [1, 0, 2, 3, 4, 5, 6]
    assert [pod // SEATS for pod in created] == [3, 4, 5, 6, 7, 8, 9]
    assert stage.bound() == dict.fromkeys(created, "n")
    assert (stage.cluster.live, stage.cluster.bound_ready) == (7, 7)


def test_a_gang_that_is_created_in_place_counts_where_it_is() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n", pods=3), machine("o", pods=4, rack="r-2"), machine("p", pods=9, rack="r-2"))
        gang = owner(1, 6, colocation_key=RACK_KEY)
        await stage.cluster.create_owners([gang], [["o", "o", "p", "o"]])
        await stage.sleep(1)

    stage.run(story)

    assert sorted(stage.bound().values()) == ["o", "o", "o", "p", "p", "p"]
    (held,) = stage.cluster._lives.owners.values()
    assert held.placement is not None
    assert held.placement.counts == ({"r-2": 6},)


@pytest.mark.parametrize(
    ("creation", "nodes", "complaint"),
    [
        (owner(1, 11), ["n"] * 11, "Node n has no room for a Pod of owner-1"),
        (owner(1, 1), ["m"], "there is no Node m"),
        (owner(1, 1), ["n", "n"], "2 Nodes are named for the 1 Pods"),
    ],
)
def test_a_pod_is_never_created_where_it_does_not_fit(creation: Owner, nodes: list[str], complaint: str) -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n"))
        with pytest.raises(ValueError, match=complaint):
            await stage.cluster.create_owners([creation], [nodes])

    stage.loop.run_until_complete(story())


def test_a_nodes_pod_limit_counts_like_a_resource() -> None:
    stage = Stage(max_pods=3)

    async def story() -> None:
        await stage.add_nodes(machine("n", pods=10))
        await stage.cluster.create_owners([owner(1, 5)])
        await stage.sleep(1)

    stage.run(story)

    assert len(stage.bound()) == 3


def test_with_a_positive_lag_the_pod_is_gone_before_its_replacement_appears() -> None:
    stage = Stage(world(lag=0.7))

    async def story() -> None:
        old, _ = await _filled(stage)
        answers = await stage.cluster.delete_pods([old])
        assert answers == [Answer.OK]
        assert stage.cluster.live == 1
        await stage.sleep(0.699999)
        assert stage.cluster.live == 1
        await stage.sleep(0.000001)
        assert stage.cluster.live == 2
        await stage.sleep(BIND_US / SECOND_US)
        assert stage.cluster.bound_ready == 2

    stage.run(story)

    old, new = stage.pod_events(Change.ADDED)[0].pod, stage.pod_events(Change.BOUND)[0].pod
    assert [(e.change, e.pod, e.node) for e in stage.pod_events()[2:]] == [
        (Change.DELETED, old, "n"),
        (Change.ADDED, new, ""),
        (Change.BOUND, new, "n"),
    ]
    assert new % SEATS == old % SEATS
    assert new != old


def test_with_a_negative_lag_the_pod_keeps_its_room_until_after_its_replacement_appeared() -> None:
    stage = Stage(world(lag=-2.0))

    async def story() -> None:
        pods = await _filled(stage, replicas=10)
        await stage.cluster.delete_pods(pods[:1])
        assert stage.cluster.live == 11
        assert (await stage.cluster.list()).terminating.tolist() == pods[:1]
        await stage.sleep(1.9)
        assert len(await stage.cluster.pods_on("n")) == 10
        assert await stage.cluster.delete_pods(pods[:1]) == [Answer.OK]
        assert await stage.cluster.evict(pods[:1]) == [Answer.OK]
        await stage.sleep(1)

    stage.run(story)

    assert [e.change for e in stage.pod_events()[10:]] == [
        Change.TERMINATING,
        Change.ADDED,
        Change.DELETED,
        Change.BOUND,
    ]
    assert stage.cluster.live == 10


def test_a_waiting_pod_has_nothing_to_shut_down_and_goes_at_once() -> None:
    stage = Stage(world(lag=-2.0))

    async def story() -> None:
        await stage.cluster.create_owners([owner(1, 1)])
        await stage.cluster.delete_pods(stage.pods())

    stage.run(story)

    assert [e.change for e in stage.pod_events()] == [Change.ADDED, Change.DELETED, Change.ADDED]


def test_every_item_of_a_batch_has_its_own_answer() -> None:
    stage = Stage()

    async def story() -> None:
        first, second = await _filled(stage)
        await stage.cluster.delete_pods([first])
        assert await stage.cluster.delete_pods([first, second, 77]) == [
            Answer.NOT_FOUND,
            Answer.OK,
            Answer.NOT_FOUND,
        ]
        assert await stage.cluster.create_owners([owner(1, 1), owner(2, 1)]) == [Answer.CONFLICT, Answer.OK]
        assert await stage.cluster.delete_owners([3, 2]) == [Answer.NOT_FOUND, Answer.OK]
        assert await stage.cluster.scale(3, 1) is Answer.NOT_FOUND
        assert await stage.cluster.cordon("m") is Answer.NOT_FOUND

    stage.run(story)


def test_an_old_id_never_hits_the_pod_that_took_its_seat() -> None:
    stage = Stage()

    async def story() -> None:
        old, _ = await _filled(stage)
        await stage.cluster.delete_pods([old])
        await stage.sleep(2)
        assert await stage.cluster.delete_pods([old]) == [Answer.NOT_FOUND]
        assert await stage.cluster.create_requests([old]) == [Answer.NOT_FOUND]

    stage.run(story)

    assert stage.cluster.live == 2


def test_a_request_is_made_once_acknowledged_after_that_and_goes_with_its_pod() -> None:
    stage = Stage()

    async def story() -> None:
        pod, other = await _filled(stage)
        assert await stage.cluster.acknowledge_requests([pod]) == [Answer.NOT_FOUND]
        assert await stage.cluster.create_requests([pod]) == [Answer.OK]
        assert await stage.cluster.create_requests([pod]) == [Answer.CONFLICT]
        assert await stage.cluster.acknowledge_requests([pod]) == [Answer.OK]
        assert (await stage.cluster.list()).requested.tolist() == [1, 0]
        await stage.cluster.delete_pods([pod])
        await stage.sleep(2)
        listed = await stage.cluster.list()
        assert listed.requested.tolist() == [0, 0]
        assert listed.pods[1] == other

    stage.run(story)

    assert len(stage.pod_events(Change.REQUESTED)) == 1


def test_a_list_shows_pods_owners_and_nodes_at_one_revision() -> None:
    stage = Stage()

    async def story() -> None:
        await _filled(stage)
        await stage.cluster.scale(1, 3)
        await stage.cluster.cordon("n")
        listed = await stage.cluster.list()
        assert listed.revision == len(stage.events())
        assert [o.replicas for o in listed.owners] == [3]
        assert listed.owner_of.tolist() == [1, 1, 1]
        assert listed.nodes == ("n", "n", "")
        revision, nodes = await stage.cluster.list_nodes()
        assert revision == listed.revision
        assert nodes == (NodeEvent(Change.ADDED, "n", "m-n", ready=True, created_us=0),)

    stage.run(story)


def test_scaling_down_takes_waiting_pods_first_and_then_the_youngest() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n", pods=3))
        await stage.cluster.create_owners([owner(1, 5)])
        await stage.sleep(1)
        first, second, third = stage.bound()
        await stage.cluster.scale(1, 4)
        assert list(stage.bound()) == [first, second, third]
        await stage.cluster.scale(1, 1)
        assert stage.pods() == [first]
        await stage.sleep(10)

    stage.run(story)

    assert stage.cluster.live == 1


def test_scaling_up_does_not_make_the_replacements_that_are_still_to_come() -> None:
    stage = Stage()

    async def story() -> None:
        pods = await _filled(stage, replicas=4)
        await stage.cluster.delete_pods(pods[:2])
        await stage.cluster.scale(1, 5)
        assert stage.cluster.live == 3
        await stage.sleep(2)

    stage.run(story)

    assert stage.cluster.live == 5


def test_scaling_down_and_up_again_never_makes_too_many() -> None:
    stage = Stage()

    async def story() -> None:
        pods = await _filled(stage, replicas=4)
        await stage.cluster.delete_pods(pods[:3])
        await stage.cluster.scale(1, 2)
        await stage.cluster.scale(1, 4)
        await stage.sleep(5)

    stage.run(story)

    assert stage.cluster.live == 4


def test_deleting_an_owner_deletes_its_pods_for_good() -> None:
    stage = Stage(world(lag=-1.0))

    async def story() -> None:
        pods = await _filled(stage, replicas=3)
        await stage.cluster.create_owners([owner(2, 20)])
        await stage.cluster.delete_pods(pods[:1])
        await stage.cluster.delete_owners([1])
        await stage.sleep(30)

    stage.run(story)

    assert len(stage.pod_events(Change.BOUND)) == 10
    assert stage.cluster.live == 20


def test_a_node_is_added_then_ready_and_its_waiting_pods_count_as_on_a_ready_node_only_then() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.cluster.add_node("n", machine("n"))
        await stage.cluster.create_owners([owner(1, 1)], [["n"]])
        assert stage.cluster.bound_ready == 0
        await stage.sleep(0.1)
        assert stage.cluster.bound_ready == 1

    stage.run(story)

    nodes = [event for event in stage.events() if isinstance(event, NodeEvent)]
    assert [(event.change, event.ready) for event in nodes] == [(Change.ADDED, False), (Change.READY, True)]


def test_evicted_pods_say_so_and_come_back_elsewhere() -> None:
    stage = Stage()

    async def story() -> None:
        await _filled(stage)
        await stage.add_nodes(machine("o"))
        assert await stage.cluster.cordon("n") is Answer.OK
        assert await stage.cluster.cordon("n") is Answer.OK
        assert await stage.cluster.evict(await stage.cluster.pods_on("n")) == [Answer.OK, Answer.OK]
        await stage.sleep(2)

    stage.run(story)

    assert {event.reason for event in stage.pod_events(Change.DELETED)} == {Gone.EVICTED}
    assert sorted(stage.bound().values()) == ["o", "o"]
    assert sum(event.change is Change.CORDONED for event in stage.events()) == 1


def test_a_node_is_drained_when_the_last_terminating_pod_is_gone() -> None:
    stage = Stage(world(lag=-3.0))

    async def story() -> None:
        await _filled(stage)
        await stage.cluster.cordon("n")
        assert not await stage.cluster.drained("n", until_us=stage.loop.now_us() + SECOND_US)
        await stage.cluster.evict(await stage.cluster.pods_on("n"))
        evicted_us = stage.loop.now_us()
        assert await stage.cluster.drained("n", until_us=evicted_us + 60 * SECOND_US)
        assert stage.loop.now_us() == evicted_us + 3 * SECOND_US
        assert await stage.cluster.drained("n", until_us=0)
        assert await stage.cluster.drained("unknown", until_us=0)

    stage.run(story)


@pytest.mark.parametrize(("lost", "reason"), [(True, Gone.NODE_LOST), (False, Gone.EVICTED)])
def test_a_removed_node_takes_its_pods_along_and_their_owner_replaces_them(*, lost: bool, reason: Gone) -> None:
    stage = Stage(world(lag=-1.0))

    async def story() -> None:
        pods = await _filled(stage)
        await stage.add_nodes(machine("o"))
        await stage.cluster.delete_pods(pods[:1])
        await stage.cluster.remove_node("n", lost=lost)
        await stage.cluster.remove_node("n", lost=lost)
        assert stage.cluster.nodes == 1
        await stage.sleep(5)

    stage.run(story)

    assert [event.reason for event in stage.pod_events(Change.DELETED)] == [reason, reason]
    assert sorted(stage.bound().values()) == ["o", "o"]
    assert stage.cluster.live == 2
    gone = [event for event in stage.events() if isinstance(event, NodeEvent) and event.change is Change.DELETED]
    assert [event.node for event in gone] == ["n"]


def test_somebody_who_waits_for_a_drain_is_told_when_the_node_is_removed() -> None:
    stage = Stage()

    async def story() -> tuple[bool, int]:
        await _filled(stage)
        start_us = stage.loop.now_us()
        waiting = asyncio.ensure_future(stage.cluster.drained("n", until_us=60 * SECOND_US))
        await stage.sleep(1)
        await stage.cluster.remove_node("n", lost=True)
        return await waiting, stage.loop.now_us() - start_us

    assert stage.run(story) == (True, SECOND_US)


def test_a_name_can_join_again_after_it_left_even_before_it_was_ready() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.cluster.add_node("n", machine("n"))
        with pytest.raises(ValueError, match="a Node n already"):
            await stage.cluster.add_node("n", machine("n"))
        await stage.sleep(0.05)
        await stage.cluster.remove_node("n")
        await stage.cluster.add_node("n", machine("n"))
        await stage.cluster.create_owners([owner(1, 1)])
        await stage.sleep(2)

    stage.run(story)

    ready = [event for event in stage.events() if event.change is Change.READY]
    assert ready == [NodeEvent(Change.READY, "n", "m-n", ready=True, created_us=READY_US // 2)]
    assert len(stage.bound()) == 1
