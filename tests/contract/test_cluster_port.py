"""What both worlds promise behind the ports Cluster and Nodes; every reader here checks the watch's law as well."""

import asyncio
from collections import Counter

import pytest

from contract.grounds import MAX_PODS, Ground, Scene
from contract.readers import PATIENCE_S, Reader
from scaletest.model import US_PER_SECOND, Operator, Requirement, Resources, Spread
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.ports.cluster import (
    SEATS,
    Answer,
    Change,
    Gone,
    Owner,
    PodList,
    PodTemplate,
    WatchBrokenError,
    WatchExpiredError,
)

# A cluster is raised within the first test's time.
pytestmark = pytest.mark.timeout(400)

_LATER = 30 * US_PER_SECOND


async def _owned(scene: Scene, owner: Owner) -> dict[int, str]:
    """Return an owner's Pods and their Nodes, as a list shows them."""
    return _of(owner, await scene.cluster.list())


def _of(owner: Owner, listed: PodList) -> dict[int, str]:
    columns = zip(listed.pods, listed.owner_of, listed.nodes, strict=True)
    return {pod: node for pod, number, node in columns if number == owner.id}


async def _agree(scene: Scene, reader: Reader, owner: Owner) -> None:
    """Read until the reader knows what a list shows, no more and no less, and every Pod is bound and stays."""

    async def agreed() -> bool:
        listed = await scene.cluster.list()
        there = _of(owner, listed)
        return (
            there == reader.pods
            and len(there) == owner.replicas
            and all(there.values())
            and there.keys().isdisjoint(listed.terminating)
        )

    async with asyncio.timeout(PATIENCE_S):
        while not await agreed():
            await reader.next()


def test_pods_that_are_given_a_place_appear_bound_there_and_the_rest_is_scheduled(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        await scene.add_nodes(scene.machine("a"), scene.machine("b"))
        reader, owner = await scene.reader(), scene.owner(4)
        async with scene.filling():
            answers = await scene.cluster.create_owners([owner], [[scene.node("b")] * 3])
            assert answers == [Answer.OK]
            await reader.until(lambda: len(reader.pods) >= 3)
        await reader.until_bound(4)

        placed = [event.pod for event in reader.of(Change.ADDED) if event.node]
        assert [reader.pods[pod] for pod in placed] == [scene.node("b")] * 3
        assert len(reader.of(Change.BOUND)) == 1
        assert await _owned(scene, owner) == reader.pods

    ground.play(story)


def test_pods_without_a_place_are_bound_by_the_scheduler_where_there_is_room(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        await scene.add_nodes(scene.machine("a", pods=2), scene.machine("b", pods=3))
        reader, owner = await scene.reader(), scene.owner(6)
        assert await scene.cluster.create_owners([owner]) == [Answer.OK]
        await reader.until(lambda: len(reader.pods) == 6 and len(reader.of(Change.BOUND)) == 5)
        assert [event.node for event in reader.of(Change.ADDED)] == [""] * 6
        assert Counter(reader.pods.values()) == {scene.node("a"): 2, scene.node("b"): 3, "": 1}

        await scene.add_nodes(scene.machine("c"))
        reader.close()
        late = await scene.reader()
        await late.until_bound(6)
        assert Counter(late.pods.values())[scene.node("c")] == 1

    ground.play(story)


def test_a_node_takes_no_more_pods_than_its_limit_however_small_they_are(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        await scene.add_nodes(scene.machine("a", pods=100))
        reader = await scene.reader()
        await scene.cluster.create_owners([scene.owner(MAX_PODS + 2, cpu=10)])
        await reader.until(lambda: len(reader.pods) == MAX_PODS + 2 and len(reader.of(Change.BOUND)) == MAX_PODS)

        assert sum(not node for node in reader.pods.values()) == 2

    ground.play(story)


def test_pods_of_a_gang_end_up_in_one_rack(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        machines = [scene.machine(f"{rack}-{n}", pods=3, rack=rack) for rack in ("r-1", "r-2") for n in range(3)]
        await scene.add_nodes(*machines)
        reader, owner = await scene.reader(), scene.owner(6, colocation_key=RACK_KEY)
        await scene.cluster.create_owners([owner])
        await reader.until_bound(6)
        racks = {node: machine.labels[0][1] for machine in machines for node in [f"{machine.id}.0"]}
        assert len({racks[node] for node in reader.pods.values()}) == 1

    ground.play(story)


def test_pods_that_spread_over_zones_differ_by_no_more_than_they_may(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        machines = [scene.machine(zone, pods=8, zone=zone) for zone in "abc"]
        await scene.add_nodes(*machines)
        reader = await scene.reader()
        await scene.cluster.create_owners([scene.owner(7, spread=(Spread(ZONE_KEY, 1),))])
        await reader.until_bound(7)
        assert sorted(Counter(reader.pods.values()).values()) == [2, 2, 3]

    ground.play(story)


def test_a_listing_and_the_watch_from_it_lose_nothing_and_tell_nothing_twice(ground: Ground) -> None:
    async def churn(scene: Scene, owner: Owner, enough: asyncio.Event) -> None:
        # To the end of a round: a call that is broken off may still take effect, whenever the server likes.
        while not enough.is_set():
            pods = list(await _owned(scene, owner))
            await scene.cluster.create_requests(pods[3:])
            await scene.cluster.delete_pods(pods[:3])
            await scene.sleep(0.1)

    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(8)
        enough = asyncio.Event()
        disturbing = asyncio.ensure_future(churn(scene, owner, enough))
        for _ in range(6):
            reader.close()
            reader = await scene.reader()
            for _ in range(2):
                await reader.next()
        enough.set()
        await disturbing
        await _agree(scene, reader, owner)
        await scene.cluster.create_requests(list(reader.pods))
        await reader.until(lambda: reader.requested == {*reader.pods})

    ground.play(story)


@pytest.mark.parametrize("how", ["closed", "cut"])
def test_a_watch_that_broke_goes_on_from_its_last_revision(ground: Ground, how: str) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(4)
        first = next(iter(reader.pods))
        reader.close() if how == "closed" else scene.cut(reader)
        with pytest.raises(WatchBrokenError):
            await reader.until(lambda: False)
        # Everything happens while nobody looks.
        await scene.cluster.delete_pods([first])
        await scene.cluster.create_requests(list(reader.pods)[1:])
        await scene.add_nodes_unseen(scene.machine("b"))
        await scene.sleep(3)
        reader.reopen()
        await reader.until(lambda: first not in reader.pods)
        await reader.until(lambda: reader.nodes.get(scene.node("b"), False))
        await reader.until_bound(4)
        await reader.until(lambda: len(reader.requested) == 3)

        assert await _owned(scene, owner) == reader.pods
        assert reader.changes(first)[-2:] == [Change.TERMINATING, Change.DELETED]

    ground.play(story)


def test_a_watch_that_breaks_again_and_again_still_tells_everything_once(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(5)
        for _ in range(5):
            await scene.cluster.delete_pods(list(reader.pods)[:2])
            await reader.next()
            reader.close()
            reader.reopen()
        await _agree(scene, reader, owner)

    ground.play(story)


def test_a_revision_that_is_forgotten_is_told_so_and_a_new_list_goes_on(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, first = await scene.filled(3)
        first.close()
        listed = await scene.cluster.list()
        await scene.forget()
        with pytest.raises(WatchExpiredError):
            await scene.cluster.watch(listed.revision).next()
        again = await scene.reader()
        await scene.cluster.delete_pods(list(again.pods)[:1])
        await again.until(lambda: len(again.of(Change.DELETED)) == 1)
        await again.until_bound(3)
        assert await _owned(scene, owner) == again.pods
        assert {*again.pods} >= {*first.pods} - {again.of(Change.DELETED)[0].pod}, "a Pod keeps its id"

    ground.play(story)


def test_a_list_for_its_own_sake_does_not_disturb_the_watch(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(4)
        for _ in range(4):
            deleting = scene.cluster.delete_pods(list(reader.pods)[:1])
            listed, _ = await asyncio.gather(scene.cluster.list(), deleting)
            assert owner.id in [each.id for each in listed.owners]
            await reader.next()
        await _agree(scene, reader, owner)

    ground.play(story)


def test_a_deleted_pod_terminates_and_is_replaced_by_one_with_another_id(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(3)
        old = next(iter(reader.pods))
        assert await scene.cluster.delete_pods([old]) == [Answer.OK]
        await reader.until(lambda: old not in reader.pods)
        await reader.until_bound(3)

        gone = [event for event in reader.events if event.pod == old][-2:]
        assert [(event.change, event.reason) for event in gone] == [
            (Change.TERMINATING, Gone.DELETED),
            (Change.DELETED, Gone.DELETED),
        ]
        new = max(reader.pods)
        assert new > max({*reader.pods} - {new})
        assert reader.changes(new) == [Change.ADDED, Change.BOUND]
        assert await _owned(scene, owner) == reader.pods

    ground.play(story)


def test_an_id_whose_pod_is_gone_hits_nobody(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(2)
        old = next(iter(reader.pods))
        await scene.cluster.delete_pods([old])
        await reader.until(lambda: old not in reader.pods)
        await reader.until_bound(2)
        kept = dict(reader.pods)

        for call in (scene.cluster.delete_pods, scene.cluster.evict, scene.cluster.create_requests):
            assert await call([old, 7 * SEATS * SEATS]) == [Answer.NOT_FOUND] * 2
        await scene.sleep(1)
        assert await _owned(scene, owner) == kept
        assert all(pod % SEATS < MAX_PODS * 50 for pod in kept), "seats are used again"

    ground.play(story)


def test_deleting_a_pod_twice_deletes_it_once(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(2)
        old = next(iter(reader.pods))
        answers = await asyncio.gather(*(scene.cluster.delete_pods([old]) for _ in range(3)))
        # The second call may come while the Pod terminates, or when it is gone.
        assert {answer for (answer,) in answers} <= {Answer.OK, Answer.NOT_FOUND, Answer.CONFLICT}
        assert [Answer.OK] in [list(each) for each in answers]
        await reader.until(lambda: old not in reader.pods)
        await reader.until_bound(2)
        assert len(reader.of(Change.DELETED)) == 1
        assert len(reader.of(Change.ADDED)) == 3

    ground.play(story)


def test_a_pod_that_was_never_bound_goes_at_once_when_it_is_deleted(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        reader = await scene.reader()
        await scene.cluster.create_owners([scene.owner(1)])
        await reader.until(lambda: len(reader.pods) == 1)
        (old,) = reader.pods
        assert await scene.cluster.delete_pods([old]) == [Answer.OK]
        await reader.until(lambda: old not in reader.pods and len(reader.pods) == 1)
        # A real one is seen terminating for an instant.
        assert [each for each in reader.changes(old) if each is not Change.TERMINATING] == [
            Change.ADDED,
            Change.DELETED,
        ]

    ground.play(story)


def test_an_evicted_pod_says_so_until_it_is_gone_and_comes_back_elsewhere(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(3)
        await scene.cluster.cordon(scene.node("a"))
        await scene.add_nodes_unseen(scene.machine("b"))
        old = list(await scene.cluster.pods_on(scene.node("a")))
        assert sorted(old) == sorted(reader.pods)
        assert await scene.cluster.evict(old) == [Answer.OK] * 3
        await reader.until(lambda: not {*old} & {*reader.pods})
        await reader.until_bound(3)

        going = [e for e in reader.events if e.change in {Change.TERMINATING, Change.DELETED}]
        assert Counter((e.change, e.reason) for e in going) == {
            (Change.TERMINATING, Gone.EVICTED): 3,
            (Change.DELETED, Gone.EVICTED): 3,
        }
        assert {*reader.pods.values()} == {scene.node("b")}
        assert list(await scene.cluster.pods_on(scene.node("a"))) == []

    ground.play(story)


def test_a_lost_nodes_pods_say_so_and_none_stays_on_a_node_that_is_gone(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(6)
        old = {*reader.pods}
        await scene.cluster.remove_node(scene.node("a"), lost=True)
        await reader.until(lambda: scene.node("a") not in reader.nodes)
        gone_us = scene.clock.now_us()
        await reader.until(lambda: len(reader.pods) == 6 and not {scene.node("a")} & {*reader.pods.values()})
        assert scene.clock.now_us() - gone_us < 5 * US_PER_SECOND
        assert {event.reason for event in reader.of(Change.DELETED) if event.pod in old} == {Gone.NODE_LOST}

        await scene.add_nodes_unseen(scene.machine("b"))
        await reader.until_bound(6)
        await scene.cluster.remove_node(scene.node("a"), lost=True)  # nobody minds
        assert {*reader.pods.values()} == {scene.node("b")}

    ground.play(story)


def test_a_node_that_is_taken_away_evicts_the_pods_that_are_still_on_it(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(3)
        old = {*reader.pods}
        await scene.cluster.remove_node(scene.node("a"))
        await reader.until(lambda: not old & {*reader.pods})
        assert {event.reason for event in reader.of(Change.DELETED) if event.pod in old} == {Gone.EVICTED}

    ground.play(story)


def test_a_node_is_drained_once_its_last_pod_is_gone(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(3)
        node, now_us = scene.node("a"), scene.clock.now_us
        await scene.cluster.cordon(node)
        assert not await scene.cluster.drained(node, until_us=now_us() + US_PER_SECOND)
        await scene.cluster.evict(list(reader.pods))
        assert await scene.cluster.drained(node, until_us=now_us() + _LATER)
        assert list(await scene.cluster.pods_on(node)) == []
        assert await scene.cluster.drained(node, until_us=0)
        assert await scene.cluster.drained(scene.node("never-there"), until_us=0)

    ground.play(story)


def test_a_drain_that_is_waited_for_ends_when_the_node_is_lost(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        await scene.filled(2)
        waiting = scene.cluster.drained(scene.node("a"), until_us=scene.clock.now_us() + _LATER)
        drained, _ = await asyncio.gather(waiting, scene.cluster.remove_node(scene.node("a"), lost=True))
        assert drained

    ground.play(story)


def test_a_cordoned_node_keeps_its_pods_and_gets_no_new_ones(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(2)
        old = {*reader.pods}
        assert await scene.cluster.cordon(scene.node("a")) is Answer.OK
        assert await scene.cluster.cordon(scene.node("a")) is Answer.OK
        await reader.until(lambda: any(event.change is Change.CORDONED for event in reader.node_events))
        assert await scene.cluster.scale(owner.id, 5) is Answer.OK
        await reader.until(lambda: len(reader.pods) == 5)
        await scene.sleep(2)
        assert {pod for pod, node in (await _owned(scene, owner)).items() if node} == old
        assert sum(event.change is Change.CORDONED for event in reader.node_events) == 1

    ground.play(story)


def test_scaling_takes_waiting_pods_first_and_makes_what_is_missing(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        await scene.add_nodes(scene.machine("a", pods=3))
        reader, owner = await scene.reader(), scene.owner(2)
        await scene.cluster.create_owners([owner])
        await reader.until_bound(2)
        assert await scene.cluster.scale(owner.id, 5) is Answer.OK
        await reader.until(lambda: len(reader.pods) == 5 and len(reader.of(Change.BOUND)) == 3)
        bound = {pod for pod, node in reader.pods.items() if node}
        assert await scene.cluster.scale(owner.id, 3) is Answer.OK
        await reader.until(lambda: len(reader.pods) == 3)
        assert {*reader.pods} == bound
        assert await scene.cluster.scale(owner.id, 0) is Answer.OK
        await reader.until(lambda: not reader.pods)
        assert {event.reason for event in reader.of(Change.DELETED)} == {Gone.DELETED}
        listed = await scene.cluster.list()
        assert [each.replicas for each in listed.owners if each.id == owner.id] == [0]

    ground.play(story)


def test_a_deleted_owner_takes_its_pods_along_and_can_be_made_again(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(4)
        assert await scene.cluster.delete_owners([owner.id]) == [Answer.OK]
        await reader.until(lambda: not reader.pods)
        await scene.sleep(2)
        assert await _owned(scene, owner) == {}
        assert owner.id not in [each.id for each in (await scene.cluster.list()).owners]

        assert await scene.cluster.create_owners([owner]) == [Answer.OK]
        await reader.until_bound(4)
        assert len(reader.of(Change.ADDED)) == 8

    ground.play(story)


def test_an_owner_is_made_once(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(2)
        other = scene.owner(1)
        places = [[scene.node("a")], []]
        assert await scene.cluster.create_owners([owner, other]) == [Answer.CONFLICT, Answer.OK]
        assert await scene.cluster.create_owners([other, owner]) == [Answer.CONFLICT] * 2
        assert await scene.cluster.create_owners([owner, other], places) == [Answer.CONFLICT] * 2
        await reader.until_bound(3)
        await scene.sleep(1)
        assert len(await _owned(scene, owner)) == 2

    ground.play(story)


_TEMPLATES = [
    PodTemplate(Resources.of({"cpu": 250}), (), 0),
    PodTemplate(
        Resources.of({"cpu": 1500, "memory": 3 << 28, "nvidia.com/gpu": 2}),
        (
            Requirement(ZONE_KEY, Operator.IN, ("a", "b")),
            Requirement(RACK_KEY, Operator.NOT_IN, ("r-9",)),
            Requirement("example.test/ssd", Operator.EXISTS, ()),
            Requirement("example.test/old", Operator.DOES_NOT_EXIST, ()),
        ),
        -5,
        (Spread(ZONE_KEY, 2), Spread(RACK_KEY, 1)),
        None,
        1_234_567,
        1,
    ),
    PodTemplate(Resources.of({"cpu": 1}), (), 100, (), RACK_KEY, 0, 50_000_000),
]


def test_owners_are_listed_as_they_were_made(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        numbers = [scene.owner(0).id for _ in _TEMPLATES]
        owners = [Owner(n, f"made-{n}", 0, template) for n, template in zip(numbers, _TEMPLATES, strict=True)]
        assert await scene.cluster.create_owners(owners) == [Answer.OK] * len(owners)
        for cluster in (scene.cluster, scene.another()):
            listed = {owner.id: owner for owner in (await cluster.list()).owners}
            assert [listed[number] for number in numbers] == owners

    ground.play(story)


def test_a_request_is_made_once_is_seen_and_goes_with_its_pod(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        _, reader = await scene.filled(2)
        pod, other = reader.pods
        assert await scene.cluster.acknowledge_requests([pod, other]) == [Answer.NOT_FOUND] * 2
        assert await scene.cluster.create_requests([pod]) == [Answer.OK]
        assert await scene.cluster.create_requests([pod, other]) == [Answer.CONFLICT, Answer.OK]
        await reader.until(lambda: reader.requested == {pod, other})
        assert await scene.cluster.acknowledge_requests([pod]) == [Answer.OK]
        assert await scene.cluster.acknowledge_requests([pod]) == [Answer.OK]

        await scene.cluster.delete_pods([pod])
        await reader.until(lambda: pod not in reader.pods)
        await reader.until_bound(2)
        listed = await scene.cluster.list()
        marked = dict(zip(listed.pods, listed.requested, strict=True))
        assert {each: marked[each] for each in reader.pods} == {other: 1, max(reader.pods): 0}
        assert await scene.cluster.acknowledge_requests([pod]) == [Answer.NOT_FOUND]
        assert len(reader.of(Change.REQUESTED)) == 2

    ground.play(story)


def test_whoever_makes_a_request_everybody_sees_it(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        agent = scene.another()
        theirs = await scene.reader(agent)  # nothing is there yet, so no owner is known to it
        _, reader = await scene.filled(3)
        await theirs.until(lambda: len(theirs.pods) == 3)
        assert await agent.create_requests(list(theirs.pods)) == [Answer.OK] * 3
        await reader.until(lambda: reader.requested == {*reader.pods})
        await theirs.until(lambda: theirs.requested == {*theirs.pods})
        assert await scene.cluster.create_requests(list(reader.pods)) == [Answer.CONFLICT] * 3
        late = await scene.reader(scene.another())
        assert late.requested == {*late.pods}
        assert await agent.acknowledge_requests(list(theirs.pods)) == [Answer.OK] * 3

    ground.play(story)


def test_a_node_is_added_becomes_ready_is_cordoned_and_goes(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        reader, before_us = await scene.reader(), scene.clock.now_us()
        node, machine = scene.node("a"), scene.machine("a")
        await scene.add_nodes_unseen(machine)
        await reader.until(lambda: reader.nodes.get(node, False))
        _, listed = await scene.cluster.list_nodes()
        await scene.cluster.cordon(node)
        await scene.cluster.remove_node(node)
        await reader.until(lambda: node not in reader.nodes)

        changes = [event.change for event in reader.node_events]
        assert changes == [Change.ADDED, Change.READY, Change.CORDONED, Change.DELETED]
        assert [event.ready for event in reader.node_events[:2]] == [False, True]
        assert {(event.node, event.machine) for event in reader.node_events} == {(node, machine.id)}
        (created_us,) = {event.created_us for event in reader.node_events}
        assert before_us <= created_us <= scene.clock.now_us()
        ready = next(event for event in reader.node_events if event.change is Change.READY)
        assert [event for event in listed if event.node == node] == [ready._replace(change=Change.ADDED)]

    ground.play(story)


def test_what_was_never_there_is_not_found(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        nobody = scene.owner(1).id
        assert await scene.cluster.scale(nobody, 3) is Answer.NOT_FOUND
        assert await scene.cluster.delete_owners([nobody]) == [Answer.NOT_FOUND]
        assert await scene.cluster.cordon(scene.node("never-there")) is Answer.NOT_FOUND
        assert list(await scene.cluster.pods_on(scene.node("never-there"))) == []
        await scene.cluster.remove_node(scene.node("never-there"))
        assert await scene.cluster.delete_pods([]) == []
        assert await scene.cluster.create_owners([]) == []

    ground.play(story)


def test_every_item_of_a_batch_has_its_own_answer_in_order(ground: Ground) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(3)
        first, second, third = reader.pods
        gone = scene.owner(1).id
        await scene.cluster.create_requests([second])
        assert await scene.cluster.create_requests([1, second, third, SEATS - 1, first]) == [
            Answer.NOT_FOUND,
            Answer.CONFLICT,
            Answer.OK,
            Answer.NOT_FOUND,
            Answer.OK,
        ]
        assert await scene.cluster.delete_owners([gone, owner.id, gone]) == [
            Answer.NOT_FOUND,
            Answer.OK,
            Answer.NOT_FOUND,
        ]

    ground.play(story)
