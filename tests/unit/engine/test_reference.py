"""The whole engine on a small ground: when it cycles, what it is told, what it tells, and what survives it."""

from dataclasses import replace

import pytest
from loop.engine_cluster import MS, SECOND, template
from loop.engine_ground import Ground, PlainWire
from loop.engine_provider import Fault, S, machine

from scaletest.engine.decide import ABLATIONS, COMPLETE, UnknownAblationError, rules_without
from scaletest.engine.decide import Settings as DecideSettings
from scaletest.engine.reference import EngineSettings, settings_without
from scaletest.engine.rows import profile_of
from scaletest.model import Machine
from scaletest.model.attribution import attribution_for, attribution_metadata
from scaletest.model.demand import RACK_KEY
from scaletest.ports.cluster import Owner
from scaletest.ports.provider import ProviderError

WEB = Owner(1, "web", 8, template())
NO_CAP = DecideSettings(reclaim_cap_ppm=0)


def configured(number: int, *, cluster: str = "c1") -> list[Machine]:
    return [machine(f"{cluster}-m{n}", S.CONFIGURED, cluster=cluster) for n in range(number)]


def ground_of(
    machines: list[Machine], *, owners: tuple[Owner, ...] = (WEB,), settings: EngineSettings | None = None
) -> Ground:
    return Ground(machines, owners={"c1": owners}, settings=settings or EngineSettings(decide=NO_CAP, concurrency=8))


def starts_s(ground: Ground) -> list[int]:
    return [fact.at_us // SECOND for fact in ground.notes.cycles]


# --- when it cycles


def test_without_roll_ups_it_cycles_with_the_tick() -> None:
    ground = ground_of(configured(2))
    engine = ground.new_engine()

    async def work() -> None:
        await engine.start()
        await ground.until(35 * SECOND)

    ground.run(work())
    assert starts_s(ground) == [10, 20, 30]
    assert [fact.needs for fact in ground.notes.cycles] == [0, 0, 0]


def test_roll_ups_that_come_together_make_one_cycle() -> None:
    names = tuple(f"c{n}" for n in range(1, 6))
    ground = Ground(clusters=names, owners=dict.fromkeys(names, (WEB,)))
    for n, name in enumerate(names):
        ground.wires[name].first_us = SECOND + n * 5 * MS
    ground.costs.cycle = 200 * MS
    ground.play(9 * SECOND)

    assert [fact.needs for fact in ground.notes.cycles] == [3, 5], "those that came in during a cycle share the next"
    assert [len(inputs.rollups) for inputs in ground.notes.inputs] == [3, 2]


def test_a_cycle_that_was_cut_short_is_followed_by_another_at_once() -> None:
    settings = EngineSettings(decide=replace(NO_CAP, max_actions=1), concurrency=8)
    ground = ground_of([machine(f"m{n}") for n in range(3)], settings=settings)
    ground.play(5 * SECOND)

    assert ground.notes.kinds() == [("Bootstrap", "m0"), ("Bootstrap", "m1")]
    assert len(ground.notes.cycles) == 2
    assert ground.sample("bigfleet_shard_actions_deferred_total") == 1


def test_decisions_are_taken_on_the_snapshot_and_handed_over_when_the_cycle_is_done() -> None:
    ground = ground_of([machine("m0"), machine("m1")])
    ground.costs.cycle = 3 * SECOND

    async def work() -> None:
        engine = ground.new_engine()
        await engine.start()
        engine.demand_ready()
        await ground.until(2 * SECOND)
        ground.provider.remove("m1")
        await ground.until(5 * SECOND)

    ground.run(work())
    cycle = ground.notes.cycles[0]
    assert cycle.duration_us == 3 * SECOND
    assert [(fact.at_us - cycle.at_us, fact.cycle) for fact in ground.notes.actions] == [(3 * SECOND, 1)] * 2
    assert ground.sample("bigfleet_shard_cycle_duration_seconds_sum") == 3


# --- listings


def test_listings_are_incremental_and_full_again_after_an_error() -> None:
    ground = ground_of(configured(2))
    ground.provider.list_fault = lambda number: ProviderError() if number == 3 else None
    ground.play(45 * SECOND)

    lists = ground.provider.lists
    assert lists[0] == 0
    assert lists[1] > 0
    assert lists[2] > 0
    assert lists[3] == 0
    assert lists[4] > 0
    assert len(ground.notes.cycles) == len(lists) - 1, "a cycle goes on with what is known"
    assert ground.sample("bigfleet_shard_list_errors_total") == 1


def test_it_does_not_decide_before_it_has_seen_any_machine() -> None:
    ground = ground_of(configured(2))
    ground.provider.list_fault = lambda number: TimeoutError() if number < 3 else None
    ground.play(25 * SECOND)

    assert ground.provider.lists[:3] == [0, 0, 0]
    assert ground.notes.cycles[0].configured == 2
    assert ground.notes.kinds() == []


# --- roll-ups


def test_nothing_is_reclaimed_before_the_first_roll_up() -> None:
    ground = ground_of(configured(4))
    ground.wires["c1"].first_us = 60 * SECOND
    ground.play(59 * SECOND)
    assert ground.notes.kinds() == []
    assert len(ground.notes.cycles) == 5

    ground.run(ground.until(90 * SECOND))
    assert [kind for kind, _ in ground.notes.kinds()] == ["Reclaim", "Reclaim"]
    assert {fact.reclaims_before_rollup for fact in ground.notes.cycles} == {0}


def test_without_the_gate_a_silent_cluster_loses_its_machines() -> None:
    settings = settings_without(["AB-01"], settings=EngineSettings(decide=NO_CAP, concurrency=8))
    ground = ground_of(configured(4), settings=settings)
    ground.wires["c1"].first_us = 60 * SECOND
    ground.play(59 * SECOND)

    assert [kind for kind, _ in ground.notes.kinds()] == ["Reclaim"] * 4
    first = ground.notes.cycles[0]
    assert (first.reclaims_before_rollup, first.worst_reclaim_ppm) == (4, 1_000_000)


def many_rows() -> tuple[Owner, ...]:
    return tuple(Owner(n, f"web-{n}", 1, template(priority=n)) for n in range(1, 13))


def empty_roll_up_world(*names: str) -> Ground:
    settings = settings_without(names, settings=EngineSettings(decide=NO_CAP, concurrency=8))
    ground = ground_of(configured(3), owners=many_rows(), settings=settings)
    ground.wires["c1"] = PlainWire(empty=(2, 3))
    ground.play(38 * SECOND)
    return ground


def test_an_empty_roll_up_is_held_and_wakes_nobody() -> None:
    ground = empty_roll_up_world()

    assert ground.notes.kinds() == []
    assert ground.engine.covered() == {"c1": 12}
    assert ground.sample("bigfleet_shard_rollup_quarantined", cluster="c1") == 2
    assert [len(inputs.rollups) for inputs in ground.notes.inputs] == [1, 0, 1, 0, 0]  # the rest are ticks


def test_without_the_guard_an_empty_roll_up_is_believed() -> None:
    ground = empty_roll_up_world("AB-24")

    assert [kind for kind, _ in ground.notes.kinds()] == ["Reclaim"] * 3
    assert ground.engine.covered() == {"c1": 0}


def test_without_requests_for_bound_pods_their_machines_are_reclaimed() -> None:
    complete, ablated = (
        ground_of(
            configured(2), settings=settings_without(names, settings=EngineSettings(decide=NO_CAP, concurrency=8))
        )
        for names in ([], ["AB-03"])
    )
    complete.play(60 * SECOND)
    ablated.play(60 * SECOND)

    assert complete.notes.kinds() == []
    assert ablated.engine.reclaims > 2
    assert ablated.engine.acquisitions > 2


def test_every_ablation_can_be_made_and_an_unknown_one_is_refused() -> None:
    for name, ablation in ABLATIONS.items():
        settings = settings_without([name])
        assert settings != EngineSettings()
        if ablation.change is not None:
            assert settings.rules == rules_without([name])
        else:
            assert settings.rules == COMPLETE
    with pytest.raises(UnknownAblationError):
        settings_without(["AB-99"])


# --- what it tells


def test_an_action_names_the_unit_of_its_row_and_a_reclaim_the_unit_it_was_acquired_for() -> None:
    ground = ground_of([machine("m0")], owners=(replace(WEB, replicas=4),))

    async def work() -> None:
        await ground.go(15 * SECOND)
        ground.clusters["c1"].resize(1, 0)
        await ground.until(40 * SECOND)

    ground.run(work())
    assert [(fact.action.kind.value, fact.min_unit) for fact in ground.notes.actions] == [
        ("Bootstrap", "cpu=1000"),
        ("Reclaim", "cpu=1000"),
    ]


def test_a_machine_that_was_seeded_is_reclaimed_under_the_unit_of_the_row_it_served() -> None:
    mark = attribution_for(profile_of(template()), "")
    ground = ground_of(configured(3))
    for name in ground.provider.machines:
        ground.provider.metadata[name] = attribution_metadata(mark)
    ground.play(30 * SECOND)

    assert [(fact.action.kind.value, fact.min_unit) for fact in ground.notes.actions] == [("Reclaim", "cpu=1000")]


def test_shortfalls_are_counted_by_class_and_aged() -> None:
    owners = (
        Owner(1, "batch", 1, template(priority=100)),
        Owner(2, "service", 1, template(priority=1_000)),
        Owner(3, "critical", 1, template(priority=1_000_000)),
    )
    ground = ground_of([machine("m0")], owners=owners)
    ground.provider.fault = lambda *_: Fault(work_us=100 * SECOND)
    ground.play(25 * SECOND)

    last = ground.notes.cycles[-1]
    assert (last.shortfalls_batch, last.shortfalls_service, last.shortfalls_critical) == (1, 1, 0)
    assert (last.shortfalls, last.oldest_shortfall_cycles) == (2, len(ground.notes.cycles))
    name = "bigfleet_shard_shortfalls_by_priority"
    assert [ground.sample(name, priority_class=c) for c in ("batch", "service", "critical")] == [1, 1, 0]
    assert ground.sample("bigfleet_shard_shortfalls") == 2
    assert ground.sample("bigfleet_shard_shortfalls_aged", bucket="1-9") == 2


def test_a_gang_that_moves_is_a_flip_and_one_that_grows_with_its_row_is_no_change() -> None:
    gang = Owner(1, "gang", 2, template(cpu=4_000, same=RACK_KEY))
    ground = ground_of([machine(f"a{n}", rack="ra") for n in range(3)], owners=(gang,))

    async def work() -> None:
        await ground.go(15 * SECOND)
        ground.clusters["c1"].resize(1, 3)
        await ground.until(35 * SECOND)
        for n in range(3):
            ground.provider.set(machine(f"b{n}", rack="rb"))
        ground.provider.remove("a0")
        ground.provider.remove("a1")
        await ground.until(60 * SECOND)

    ground.run(work())
    figures = [(fact.gangs, fact.domain_flips, fact.claimed_set_changes) for fact in ground.notes.cycles]
    assert figures[:4] == [(1, 0, 0)] * 4
    assert sum(flips for _, flips, _ in figures) == 1
    assert sum(changes for _, _, changes in figures) == 1


def test_metrics_are_there_at_zero_before_anything_happens() -> None:
    ground = ground_of([])
    ground.new_engine(bars={"bigfleet_shard_cycle_duration_seconds": (0.7, 0.77)})
    samples = ground.samples()

    kinds = ("Bootstrap", "Provision", "Reclaim", "Preempt", "Delete")
    outcomes = ("success", "ctx_canceled", "no_session", "transition_error", "provider_error", "stale_state")
    assert {ground.sample("bigfleet_shard_actions_total", kind=kind) for kind in kinds} == {0}
    for kind in kinds:
        for outcome in outcomes:
            assert ground.sample("bigfleet_shard_action_execute_outcomes_total", kind=kind, outcome=outcome) == 0
    assert ground.sample("process_resident_memory_bytes") == 123
    states = {dict(labels)["state"] for name, labels in samples if name == "bigfleet_shard_inventory_machines"}
    assert states == {state.value for state in S}
    edges = {dict(labels)["le"] for name, labels in samples if name == "bigfleet_shard_cycle_duration_seconds_bucket"}
    assert {"0.7", "0.77", "+Inf"} <= edges
    assert not any(name.endswith("_created") for name, _ in samples)
    assert {value for (name, _), value in samples.items() if name.startswith("bigfleet_")} == {0}


def test_metrics_and_the_record_agree() -> None:
    ground = ground_of([*configured(1), machine("m1"), machine("s1", S.SPECULATIVE), machine("s2", S.SPECULATIVE)])

    async def work() -> None:
        await ground.go(30 * SECOND)
        ground.clusters["c1"].resize(1, 16)
        await ground.until(60 * SECOND)
        ground.clusters["c1"].resize(1, 3)
        await ground.until(120 * SECOND)

    ground.run(work())
    notes, samples = ground.notes, ground.samples()
    assert {kind for kind, _ in notes.kinds()} == {"Bootstrap", "Provision", "Reclaim"}
    for kind in ("Bootstrap", "Provision", "Reclaim", "Preempt", "Delete"):
        rows = [fact for fact in notes.actions if fact.action.kind.value == kind]
        assert ground.sample("bigfleet_shard_actions_total", kind=kind) == len(rows)
    done = {k: v for k, v in samples.items() if k[0] == "bigfleet_shard_action_execute_outcomes_total" and v}
    assert sum(done.values()) == len(notes.outcomes)
    assert ground.sample("bigfleet_shard_cycle_duration_seconds_count") == len(notes.cycles)
    assert ground.engine.acquisitions == sum(kind in {"Bootstrap", "Provision"} for kind, _ in notes.kinds())
    assert ground.sample("bigfleet_shard_demand_machines", interruption_penalty_bucket="0") == 1


# --- what survives it


def test_a_new_engine_takes_over_from_the_listing_and_reclaims_nothing_before_the_first_roll_up() -> None:
    gangs = tuple(Owner(n, f"gang-{n}", 2, template(cpu=4_000, same=RACK_KEY)) for n in (1, 2))
    ground = ground_of([machine(f"{rack}{n}", rack=rack) for rack in ("ra", "rb") for n in range(2)], owners=gangs)

    async def work() -> None:
        await ground.go(20 * SECOND)
        await ground.engine.stop()
        ground.wires["c1"] = PlainWire(first_us=45 * SECOND)
        await ground.go(120 * SECOND)

    ground.run(work())
    fleet = ground.engine._shard._fleet.machines
    marks = {name: found.attribution for name, found in fleet.items()}
    assert sorted(mark.group for mark in marks.values() if mark) == ["c1/gang-1"] * 2 + ["c1/gang-2"] * 2
    assert ground.notes.kinds() == []
    assert len(ground.notes.cycles) > 8
    assert sum(fact.domain_flips + fact.claimed_set_changes for fact in ground.notes.cycles) == 0
    assert ground.sample("process_start_time_seconds") == 20
    assert ground.sample("bigfleet_operator_acknowledge_duration_seconds_count") == 0


def test_calls_of_an_engine_that_was_stopped_do_not_confuse_the_next_one() -> None:
    ground = ground_of([machine("m0"), machine("m1")])
    ground.provider.fault = lambda *_: Fault(work_us=20 * SECOND)

    async def work() -> None:
        await ground.go(2 * SECOND)
        await ground.engine.stop()
        await ground.go(60 * SECOND)

    ground.run(work())
    assert ground.notes.kinds() == [], "what is being configured counts"
    assert {found.state for found in ground.engine._shard._fleet.machines.values()} == {S.CONFIGURED}
    assert ground.clusters["c1"].owners[1].replicas == sum(
        bool(pod.node) for pod in ground.clusters["c1"].pods.values()
    )
