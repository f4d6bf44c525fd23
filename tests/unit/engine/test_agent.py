"""The agent: requests for live Pods, demand rows, roll-ups, and Nodes that are emptied."""

from array import array
from collections.abc import Callable
from dataclasses import replace

import pytest
from loop.engine_cluster import SECOND, FakeCluster, template
from loop.engine_ground import Ground
from loop.engine_provider import S, machine

from scaletest.engine.pods import PodTable
from scaletest.engine.reference import settings_without
from scaletest.engine.rows import profile_of
from scaletest.model import Need, Operator, Requirement, Resources, Spread, penalty_bucket
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.ports.cluster import Answer, Change, Owner, PodEvent, PodList

WEB = Owner(1, "web", 3, template())
BIG = Owner(2, "web-big", 2, template(cpu=3_000))
GANG = Owner(3, "gang", 4, template(same=RACK_KEY))


def last_rows(ground: Ground, cluster: str = "c1") -> tuple[Need, ...]:
    return ground.wires[cluster].sent[-1][1]


def cpu_of(rows: tuple[Need, ...]) -> dict[str, tuple[int, int]]:
    return {need.group: (need.aggregate["cpu"], need.min_unit["cpu"]) for need in rows}


def world_of(ground: Ground, cluster: str = "c1") -> dict[str, tuple[int, int]]:
    """Return what a cluster's live Pods really add up to."""
    found = ground.clusters[cluster]
    sizes: dict[str, list[int]] = {}
    for pod in found.pods.values():
        owner = found.owners[pod.owner]
        group = f"{cluster}/{owner.name}" if owner.template.colocation_key else ""
        sizes.setdefault(group, []).append(owner.template.requests["cpu"])
    return {group: (sum(cpus), max(cpus)) for group, cpus in sizes.items()}


def play(ground: Ground, *steps: tuple[int, Callable[[FakeCluster], object]], until_us: int) -> None:
    async def work() -> None:
        engine = ground.new_engine()
        await engine.start()
        engine.demand_ready()
        for at_us, step in steps:
            await ground.until(at_us)
            step(ground.clusters["c1"])
        await ground.until(until_us)

    ground.run(work())


def test_a_template_becomes_a_profile_that_shares_the_key_of_its_gang() -> None:
    asked = replace(
        template(same=RACK_KEY), spread=(Spread(ZONE_KEY, 1),), interruption_penalty_uusd=8_000_000, priority=7
    )

    profile = profile_of(asked)

    assert profile.same_key == RACK_KEY
    assert profile.without_same.requirements == asked.requirements
    assert profile.spread == asked.spread
    assert profile.priority == 7
    assert profile.interruption == penalty_bucket(8_000_000)
    assert Requirement(RACK_KEY, Operator.SAME) in profile.requirements


def test_pods_of_one_profile_share_a_row_whose_unit_is_the_largest_of_them() -> None:
    ground = Ground(owners={"c1": (WEB, BIG, GANG)})
    play(ground, until_us=SECOND)

    assert cpu_of(last_rows(ground)) == {"": (3 * 1_000 + 2 * 3_000, 3_000), "c1/gang": (4_000, 1_000)}


def test_the_unit_shrinks_and_the_row_goes_with_its_last_pod() -> None:
    ground = Ground(owners={"c1": (WEB, BIG, GANG)})
    play(
        ground,
        (2 * SECOND, lambda cluster: cluster.resize(2, 0)),
        (3 * SECOND, lambda cluster: cluster.resize(3, 0)),
        until_us=12 * SECOND,
    )

    assert cpu_of(last_rows(ground)) == {"": (3_000, 1_000)}


def test_a_row_that_did_not_change_is_the_same_object_in_the_next_roll_up() -> None:
    ground = Ground(owners={"c1": (WEB, GANG)})
    play(ground, (2 * SECOND, lambda cluster: cluster.resize(1, 5)), until_us=12 * SECOND)

    (_, first), (_, second) = ground.wires["c1"].sent
    before, after = ({need.group: need for need in rows} for rows in (first, second))
    assert after["c1/gang"] is before["c1/gang"]
    assert after[""] is not before[""]


@pytest.mark.parametrize("replays", [0, 7])
def test_a_broken_watch_goes_on_where_it_was_and_no_pod_counts_twice(replays: int) -> None:
    ground = Ground(owners={"c1": (WEB, BIG, GANG)})

    def disturb(cluster: FakeCluster) -> None:
        cluster.breaks, cluster.replays = 3, replays
        cluster.resize(1, 9)
        cluster.resize(2, 1)

    play(ground, (2 * SECOND, disturb), (5 * SECOND, lambda cluster: cluster.resize(3, 6)), until_us=12 * SECOND)

    assert cpu_of(last_rows(ground)) == world_of(ground) == {"": (12_000, 3_000), "c1/gang": (6_000, 1_000)}


def test_an_expired_watch_is_answered_by_a_new_list_that_loses_no_pod_and_no_request() -> None:
    ground = Ground(owners={"c1": (WEB, BIG, GANG)})

    def disturb(cluster: FakeCluster) -> None:
        cluster.expire()
        cluster.resize(1, 9)
        cluster.resize(2, 0)
        cluster.add_owner(Owner(4, "late", 2, template(same=RACK_KEY)))

    play(ground, (2 * SECOND, disturb), until_us=12 * SECOND)

    assert cpu_of(last_rows(ground)) == world_of(ground)
    assert ground.engine.covered() == {"c1": 15}
    assert all(pod.requested for pod in ground.clusters["c1"].pods.values())
    made = sum(number for call, number in ground.clusters["c1"].calls if call == "request")
    assert made == 17, "a Pod that has its request is not asked for again"


def test_pods_of_an_owner_that_no_list_has_shown_count_once_their_owner_is_known() -> None:
    ground = Ground(owners={"c1": (WEB,)})
    late = Owner(9, "late", 4, template(cpu=2_000))
    play(ground, (2 * SECOND, lambda cluster: cluster.add_owner(late)), until_us=12 * SECOND)

    assert cpu_of(last_rows(ground)) == {"": (11_000, 2_000)}


def test_the_first_roll_up_waits_for_demand_to_be_ready_and_for_the_last_request() -> None:
    ground = Ground(owners={"c1": (replace(WEB, replicas=700),)})
    cluster = ground.clusters["c1"]
    last = max(cluster.pods)
    cluster.answer = lambda _call, pod: (
        Answer.UNAVAILABLE if pod == last and ground.clock.now_us() < 25 * SECOND else Answer.OK
    )

    async def work() -> None:
        engine = ground.new_engine()
        await engine.start()
        await ground.until(15 * SECOND)
        assert not ground.wires["c1"].sent, "demand is not ready"
        engine.demand_ready()
        await ground.until(24 * SECOND)
        assert not ground.wires["c1"].sent, "one Pod has no request yet"
        await ground.until(30 * SECOND)

    ground.run(work())

    assert ground.wires["c1"].sent[0][1][0].aggregate == Resources.of({"cpu": 700_000})
    assert ground.engine.covered() == {"c1": 700}


def test_a_pod_that_nobody_has_seen_yet_holds_the_first_roll_up_too() -> None:
    ground = Ground(owners={"c1": (WEB,)})
    ground.clusters["c1"].watch_delay_us = 3 * SECOND

    async def work() -> None:
        engine = ground.new_engine()
        await engine.start()
        ground.clusters["c1"].resize(1, 8)
        engine.demand_ready()
        await ground.until(9 * SECOND)

    ground.run(work())

    assert ground.wires["c1"].sent[0][1][0].aggregate == Resources.of({"cpu": 8_000})


def test_requests_are_made_in_batches_and_acknowledged_once_a_roll_up_carried_them() -> None:
    ground = Ground(owners={"c1": (replace(WEB, replicas=1_200),)})
    play(ground, (2 * SECOND, lambda cluster: cluster.resize(1, 1_300)), until_us=12 * SECOND)

    calls = ground.clusters["c1"].calls
    assert [number for call, number in calls if call == "request"] == [500, 500, 200, 100]
    assert [number for call, number in calls if call == "acknowledge"] == [500, 500, 200, 100]
    assert all(pod.acknowledged for pod in ground.clusters["c1"].pods.values())
    assert ground.sample("bigfleet_operator_acknowledge_duration_seconds_count") == 1_300


def test_a_request_that_could_not_be_acknowledged_is_acknowledged_with_the_next_roll_up() -> None:
    ground = Ground(owners={"c1": (WEB,)})
    ground.clusters["c1"].answer = lambda call, _pod: (
        Answer.UNAVAILABLE if call == "acknowledge" and ground.clock.now_us() < 5 * SECOND else Answer.OK
    )
    play(ground, until_us=12 * SECOND)

    assert all(pod.acknowledged for pod in ground.clusters["c1"].pods.values())
    assert ground.sample("bigfleet_operator_acknowledge_duration_seconds_count") == 3
    assert ground.sample("bigfleet_operator_acknowledge_duration_seconds_sum") > 3 * 10


def test_a_request_whose_answer_was_lost_counts_when_its_event_arrives() -> None:
    ground = Ground(owners={"c1": (WEB,)})
    ground.clusters["c1"].answer = lambda call, _pod: Answer.TIMEOUT if call == "request" else Answer.OK
    play(ground, until_us=5 * SECOND)

    assert cpu_of(last_rows(ground)) == {"": (3_000, 1_000)}


def test_without_requests_for_bound_pods_only_pending_ones_make_rows() -> None:
    seeded = [machine("m1", S.CONFIGURED, cluster="c1", cpu=2_000)]
    ground = Ground(seeded, owners={"c1": (WEB,)}, settings=settings_without(["AB-03"]))
    play(ground, until_us=2 * SECOND)

    assert cpu_of(last_rows(ground)) == {"": (1_000, 1_000)}
    assert ground.engine.covered() == {"c1": 3}, "every Pod is dealt with, as this agent sees it"


def test_an_old_event_does_not_bring_a_pod_back_or_take_its_successor_away() -> None:
    table = PodTable("c1", requests_for_bound=True)
    old, new = (1 << 24) + 5, (2 << 24) + 5
    table.take([PodEvent(Change.ADDED, old, 1), PodEvent(Change.DELETED, old, 1), PodEvent(Change.ADDED, new, 1)], 0)

    table.take([PodEvent(Change.ADDED, old, 1), PodEvent(Change.DELETED, old, 1)], 1)

    assert (table.live, list(table.missing)) == (1, [new])


def test_a_pod_whose_deletion_has_begun_no_longer_counts_listed_or_watched() -> None:
    table = PodTable("c1", requests_for_bound=True)
    pods = array("q", [(n << 24) + n for n in (1, 2, 3)])
    one = Owner(1, "web", 3, template(cpu=1_000))
    listing = PodList(1, (one,), pods, array("q", [1, 1, 1]), ("", "", ""), array("b", [1, 1, 1]), pods[:1])

    table.take_in(listing)
    assert [need.aggregate["cpu"] for need in table.needs()] == [2_000]

    table.take([PodEvent(Change.TERMINATING, pods[1], 1)], 0)
    assert [need.aggregate["cpu"] for need in table.needs()] == [1_000]

    table.take([PodEvent(Change.DELETED, pod, 1) for pod in pods[:2]], 1)
    assert [need.aggregate["cpu"] for need in table.needs()] == [1_000]
    assert table.live == 1


def test_a_reclaimed_machine_is_cordoned_and_emptied_and_its_pods_are_counted() -> None:
    seeded = [machine(f"m{n}", S.CONFIGURED, cluster="c1", cpu=3_000) for n in (1, 2)]
    ground = Ground(seeded, owners={"c1": (replace(WEB, replicas=6),)})

    play(ground, (2 * SECOND, lambda cluster: cluster.resize(1, 2)), until_us=60 * SECOND)

    cluster = ground.clusters["c1"]
    assert ground.notes.kinds() == [("Reclaim", "m2")]
    assert ground.notes.outcomes == [("Reclaim", 1, "success", 2)]
    assert [call for call in cluster.calls if call[0] in {"cordon m2.1", "evict"}] == [("cordon m2.1", 1), ("evict", 2)]
    assert [pod.node for pod in cluster.pods.values()] == ["m1.1", "m1.1"], "they came back elsewhere"


def test_a_listed_pod_that_is_on_its_way_out_gets_no_request_and_holds_nobody_up() -> None:
    ground = Ground(owners={"c1": (WEB,)})
    cluster = ground.clusters["c1"]
    leaving = next(iter(cluster.pods))
    cluster.pods[leaving].leaving = True
    play(ground, until_us=2 * SECOND)

    assert cpu_of(last_rows(ground)) == {"": (2_000, 1_000)}
    assert [pod for pod, found in cluster.pods.items() if not found.requested] == [leaving]
