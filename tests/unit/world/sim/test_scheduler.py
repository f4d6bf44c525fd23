from collections import Counter

from scaletest.model import Operator, Requirement, Spread
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY
from scaletest.ports.cluster import Change, Owner, PodEvent, PodTemplate
from scaletest.profile.world import Scheduler
from sim_clusters import BIND_US, SECOND_US, Stage, constant, machine, owner, world


async def _bound_times(stage: Stage, count: int) -> list[tuple[int, PodEvent]]:
    """Return the next binds of a watch that has no delay, with their instants."""
    watch = stage.cluster.watch(len(stage.events()))
    found: list[tuple[int, PodEvent]] = []
    while len(found) < count:
        batch = await watch.next()
        found += [(batch.received_us, event) for event in batch.pods if event.change is Change.BOUND]
    return found


def _at_once() -> Stage:
    """Return a stage whose watches show everything at once."""
    return Stage(world(watch_delay=constant(0.0)))


def test_an_idle_scheduler_binds_after_one_attempt_and_a_busy_one_at_its_rate() -> None:
    stage = _at_once()

    async def story() -> list[int]:
        await stage.add_nodes(machine("n"))
        await stage.cluster.create_owners([owner(1, 4)])
        start_us = stage.loop.now_us()
        return [at - start_us for at, _ in await _bound_times(stage, 4)]

    assert stage.run(story) == [BIND_US, 2 * BIND_US, 3 * BIND_US, 4 * BIND_US]


def test_the_emptiest_node_is_taken_whatever_its_name_or_size() -> None:
    stage = Stage()
    left = {"a": 2, "b": 4, "c": 5, "d": 10}
    whole = dict(left)

    async def story() -> None:
        await stage.add_nodes(*(machine(name, pods=pods) for name, pods in left.items()))
        await stage.cluster.create_owners([owner(1, 21)])
        await stage.sleep(1)

    stage.run(story)
    for event in stage.pod_events(Change.BOUND):
        percents = {name: pods * 100 // whole[name] for name, pods in left.items() if pods}
        assert percents[event.node] == max(percents.values())
        left[event.node] -= 1

    assert not any(left.values())


def test_higher_priority_goes_first_and_then_the_older_pod() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.cluster.create_owners([owner(1, 2), owner(2, 2, priority=5), owner(3, 2, priority=5)])
        await stage.sleep(10)
        await stage.add_nodes(machine("n", pods=5))
        await stage.sleep(10)

    stage.run(story)

    assert [event.owner for event in stage.pod_events(Change.BOUND)] == [2, 2, 3, 3, 1]
    binds = stage.pod_events(Change.BOUND)
    assert binds[0].pod < binds[1].pod


def test_labels_decide_which_nodes_can_be_used() -> None:
    def pod(number: int, *tests: Requirement) -> Owner:
        template = owner(0, 1).template
        return Owner(number, f"o-{number}", 1, PodTemplate(template.requests, tests, priority=0))

    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n", instance_type="small"), machine("o", instance_type="large"))
        await stage.cluster.create_owners(
            [
                pod(1, Requirement(INSTANCE_TYPE_KEY, Operator.IN, ("large", "huge"))),
                pod(2, Requirement(INSTANCE_TYPE_KEY, Operator.NOT_IN, ("large",))),
                pod(3, Requirement(RACK_KEY, Operator.EXISTS), Requirement(ZONE_KEY, Operator.IN, ("a",))),
                pod(4, Requirement(RACK_KEY, Operator.DOES_NOT_EXIST)),
                pod(5, Requirement("unknown", Operator.EXISTS)),
                pod(6, Requirement("unknown", Operator.DOES_NOT_EXIST)),
            ]
        )
        await stage.sleep(1)

    stage.run(story)

    assert [(e.owner, e.node) for e in stage.pod_events(Change.BOUND)] == [(1, "o"), (2, "n"), (3, "n"), (6, "o")]


def test_a_cordoned_node_and_one_that_is_not_ready_get_nothing() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n"))
        await stage.cluster.cordon("n")
        await stage.cluster.add_node("o", machine("o"))
        await stage.cluster.create_owners([owner(1, 1)])
        await stage.sleep(0.05)
        assert not stage.bound()
        await stage.sleep(2)

    stage.run(story)

    assert list(stage.bound().values()) == ["o"]


def test_a_pod_without_a_node_is_tried_again_when_room_comes_but_not_before_its_back_off_ends() -> None:
    stage = _at_once()

    async def story() -> int:
        await stage.cluster.create_owners([owner(1, 1)])
        first_try_us = stage.loop.now_us() + BIND_US
        await stage.add_nodes(machine("n"))
        [(bound_us, _)] = await _bound_times(stage, 1)
        return bound_us - first_try_us

    assert stage.run(story) == SECOND_US + BIND_US


def test_a_pod_whose_back_off_is_over_is_bound_as_soon_as_there_is_room() -> None:
    stage = _at_once()

    async def story() -> int:
        await stage.add_nodes(machine("n", pods=1))
        await stage.cluster.create_owners([owner(1, 1), owner(2, 1)], [["n"]])
        await stage.sleep(50)
        await stage.cluster.delete_owners([1])
        freed_us = stage.loop.now_us()
        [(bound_us, _)] = await _bound_times(stage, 1)
        return bound_us - freed_us

    assert stage.run(story) == BIND_US


def test_back_off_doubles_up_to_its_maximum() -> None:
    stage = Stage(world(scheduler=Scheduler(bindsPerSecond=100.0, backoffInitialSeconds=1.0, backoffMaxSeconds=3.0)))

    async def story() -> list[int]:
        await stage.cluster.create_owners([owner(1, 1)])
        waits = []
        for number in range(4):
            await stage.sleep(5)
            # The Node that wakes the Pod is closed before its attempt ends.
            await stage.add_nodes(machine(f"n-{number}"))
            ready_us = stage.loop.now_us()
            await stage.cluster.cordon(f"n-{number}")
            await stage.sleep(0.005)
            waits.append(stage.cluster._lives.scheduler._parked[stage.pods()[0]] - ready_us - BIND_US)
        return waits

    assert stage.run(story) == [2 * SECOND_US, 3 * SECOND_US, 3 * SECOND_US, 3 * SECOND_US]


def test_a_free_slot_wakes_one_pod_and_no_attempt_is_wasted() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(*(machine(f"n-{n}", pods=2) for n in range(5)))
        await stage.cluster.create_owners([owner(1, 10), owner(2, 500)], [[f"n-{n % 5}" for n in range(10)]])
        await stage.sleep(60)
        await stage.cluster.scale(1, 0)
        await stage.sleep(60)

    stage.run(story)

    tries = Counter(stage.cluster._lives.pods.tries[seat] for seat in stage.cluster._lives.pods.seats())
    assert len(stage.bound()) == 10
    assert tries == {1: 500}


def test_room_is_never_left_over_while_a_pod_of_another_size_waits_for_it() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("n", pods=4))
        await stage.cluster.create_owners([owner(1, 4)], [["n"] * 4])
        await stage.cluster.create_owners([owner(2, 3, cpu=3000, priority=5), owner(3, 3), owner(4, 9, cpu=2000)])
        await stage.sleep(20)
        await stage.cluster.delete_owners([1])
        await stage.sleep(20)

    stage.run(story)

    assert Counter(event.owner for event in stage.pod_events(Change.BOUND)) == {2: 1, 3: 1}


def test_a_gang_starts_where_most_of_it_fits_and_stays_together() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(
            machine("a", pods=3, rack="r-1"),
            machine("b", pods=2, rack="r-2"),
            machine("c", pods=2, rack="r-2"),
        )
        await stage.cluster.create_owners([owner(1, 6, colocation_key=RACK_KEY)])
        await stage.sleep(30)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"b": 2, "c": 2}


def test_a_gang_waits_for_room_in_its_own_domain_only() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("a", pods=2, rack="r-1"), machine("b", pods=1, rack="r-2"))
        await stage.cluster.create_owners([owner(1, 3, colocation_key=RACK_KEY)])
        await stage.sleep(10)
        assert Counter(stage.bound().values()) == {"a": 2}
        await stage.add_nodes(machine("c", pods=5, rack="r-2"))
        await stage.sleep(10)
        assert Counter(stage.bound().values()) == {"a": 2}
        await stage.add_nodes(machine("d", pods=5, rack="r-1"))
        await stage.sleep(10)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"a": 2, "d": 1}


def test_terminating_members_hold_a_gang_until_they_are_gone() -> None:
    stage = Stage(world(lag=-30.0))

    async def story() -> None:
        await stage.add_nodes(machine("a", pods=2, rack="r-1"), machine("b", pods=1, rack="r-2"))
        await stage.cluster.create_owners([owner(1, 2, colocation_key=RACK_KEY)])
        await stage.sleep(1)
        await stage.add_nodes(machine("c", pods=9, rack="r-3"))
        await stage.cluster.delete_pods(stage.pods())
        await stage.sleep(29)
        assert set(stage.bound().values()) == {"a"}
        await stage.sleep(20)

    stage.run(story)

    # The first of the two is gone an instant before the second, and what is gone last is not what is bound first.
    assert len(stage.bound()) == 2
    assert len(set(stage.bound().values())) == 1


def test_a_gang_that_lost_its_rack_starts_again_in_another() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("a", pods=3, rack="r-1"), machine("b", pods=2, rack="r-2"))
        await stage.cluster.create_owners([owner(1, 2, colocation_key=RACK_KEY)])
        await stage.sleep(1)
        await stage.cluster.remove_node("a", lost=True)
        await stage.sleep(20)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"b": 2}


def test_a_hard_spread_keeps_zones_within_its_skew() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(
            machine("a", zone="a", pods=9), machine("b", zone="b", pods=9), machine("c", zone="c", pods=1)
        )
        await stage.cluster.create_owners([owner(1, 9, spread=(Spread(ZONE_KEY, 1),))])
        await stage.sleep(20)
        assert Counter(stage.bound().values()) == {"a": 2, "b": 2, "c": 1}
        await stage.add_nodes(machine("d", zone="c", pods=1))
        await stage.sleep(20)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"a": 3, "b": 3, "c": 1, "d": 1}


def test_a_spread_goes_on_when_the_zone_that_held_it_back_is_gone_and_stops_for_a_new_one() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("a", zone="a", pods=9), machine("b", zone="b", pods=1))
        await stage.cluster.create_owners([owner(1, 5, spread=(Spread(ZONE_KEY, 1),))])
        await stage.sleep(20)
        assert Counter(stage.bound().values()) == {"a": 2, "b": 1}
        await stage.cluster.remove_node("b")
        await stage.sleep(20)
        assert Counter(stage.bound().values()) == {"a": 5}
        await stage.add_nodes(machine("c", zone="c", pods=9))
        await stage.cluster.scale(1, 7)
        await stage.sleep(20)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"a": 5, "c": 2}


def test_a_gang_with_a_spread_obeys_both() -> None:
    stage = Stage()

    async def story() -> None:
        racks = [machine(f"{zone}{rack}", zone=zone, rack=f"r-{rack}", pods=2) for zone in "ab" for rack in (1, 2)]
        await stage.add_nodes(*racks, machine("b3", zone="b", rack="r-2", pods=1))
        both = owner(1, 6, colocation_key=ZONE_KEY, spread=(Spread(RACK_KEY, 1),))
        await stage.cluster.create_owners([both])
        await stage.sleep(30)

    stage.run(story)

    assert Counter(stage.bound().values()) == {"b1": 2, "b2": 2, "b3": 1}


def test_freed_room_goes_to_the_owner_whose_spread_allows_it() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("a", zone="a", pods=2), machine("b", zone="b", pods=2))
        await stage.cluster.create_owners([owner(0, 2)], [["a", "a"]])
        skewed = owner(1, 2, priority=5, spread=(Spread(ZONE_KEY, 1),))
        await stage.cluster.create_owners([skewed, owner(2, 2, spread=(Spread(ZONE_KEY, 2),))], [["b"]])
        await stage.sleep(20)
        assert Counter(e.owner for e in stage.pod_events(Change.BOUND)) == {2: 1}
        await stage.cluster.scale(0, 1)
        await stage.sleep(20)

    stage.run(story)

    assert [(e.owner, e.node) for e in stage.pod_events(Change.BOUND)] == [(2, "b"), (1, "a")]


async def _held_back(stage: Stage) -> int:
    """Let a spread hold back the last of four Pods, two of which are in zone a and one in zone b; return it."""
    await stage.add_nodes(machine("a", zone="a", pods=9), machine("b", zone="b", pods=1))
    await stage.cluster.create_owners([owner(1, 4, spread=(Spread(ZONE_KEY, 1),))])
    await stage.sleep(20)
    [waiting] = set(stage.pods()) - set(stage.bound())
    return waiting


def test_a_spread_lets_a_waiting_pod_go_on_when_one_that_counted_against_it_is_gone() -> None:
    stage = Stage(world(lag=5.0))

    async def story() -> None:
        waiting = await _held_back(stage)
        await stage.cluster.delete_pods([pod for pod, node in stage.bound().items() if node == "a"][:1])
        await stage.sleep(BIND_US / SECOND_US)
        assert stage.bound()[waiting] == "a"

    stage.run(story)


def test_a_spread_does_not_count_a_terminating_pod() -> None:
    stage = Stage(world(lag=-30.0))

    async def story() -> None:
        waiting = await _held_back(stage)
        await stage.cluster.delete_pods([pod for pod, node in stage.bound().items() if node == "a"][:1])
        await stage.sleep(BIND_US / SECOND_US)
        assert stage.bound()[waiting] == "a"

    stage.run(story)


def test_a_zone_that_closes_without_any_pod_of_an_owner_no_longer_holds_it_back() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.add_nodes(machine("a", zone="a", pods=9), machine("b", zone="b", pods=1))
        await stage.cluster.create_owners([owner(1, 1)], [["b"]])
        await stage.cluster.create_owners([owner(2, 2, spread=(Spread(ZONE_KEY, 1),))])
        await stage.sleep(20)
        assert Counter(event.owner for event in stage.pod_events(Change.BOUND)) == {2: 1}
        await stage.cluster.remove_node("b")
        await stage.sleep(BIND_US / SECOND_US)

    stage.run(story)

    assert Counter(event.owner for event in stage.pod_events(Change.BOUND)) == {2: 2}


def test_the_next_pod_of_a_gang_waits_for_room_when_the_first_one_is_deleted() -> None:
    stage = Stage(world(lag=5.0))

    async def story() -> None:
        await stage.add_nodes(machine("a", pods=1))
        await stage.cluster.create_owners([owner(1, 3, colocation_key=RACK_KEY)])
        await stage.sleep(20)
        first, second = sorted(set(stage.pods()) - set(stage.bound()))
        await stage.cluster.delete_pods([first])
        await stage.add_nodes(machine("b", pods=1))
        await stage.sleep(BIND_US / SECOND_US)
        assert stage.bound()[second] == "b"

    stage.run(story)
