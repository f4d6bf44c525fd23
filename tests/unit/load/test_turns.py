from collections import Counter

from unit.load.load_stage import SECOND_US, HandStage, Stage, quiet_stage

from sample_plans import archetype, catalog_of, plan_of, profile_of, shipped_plan
from scaletest.load.demand import Turn, demand_of
from scaletest.load.templates import Templates
from scaletest.plan.events import EventKind
from scaletest.ports.cluster import Answer

S = SECOND_US
DOWN = Turn(10 * S, EventKind.DEMAND_STEP, go=(1,))
UP = Turn(30 * S, EventKind.DEMAND_STEP, come=(1,))


def test_a_step_down_takes_the_owners_pods_and_a_step_up_brings_them_back_as_requests() -> None:
    stage = HandStage(2, 3, turns=[DOWN, UP]).started()
    stage.run_for(15)
    assert (stage.load.live, stage.load.target) == (2, 2)
    stage.run_for(25)
    rows = stage.finish()

    assert (stage.load.live, stage.load.target) == (5, 5)
    assert [(row.cause, row.state, row.slot, row.planned_us) for row in rows] == [
        ("step", "bound", slot, stage.us(30)) for slot in (2, 3, 4)
    ]


def test_a_request_whose_slot_is_scaled_away_is_withdrawn() -> None:
    stage = HandStage(2, 3, turns=[DOWN, UP], arrivals=[(8, 2), (9.5, 3), (9.998, 4)])
    stage.cluster.place = lambda _pod: ""
    stage.started().run_for(20)

    assert sorted((row.slot, row.state) for row in stage.rows) == [(2, "void"), (3, "void"), (4, "void")]
    stage.run_for(20)
    waiting = [row for row in stage.finish() if row.state == "waiting"]
    assert [(row.cause, row.slot) for row in waiting] == [("step", slot) for slot in (2, 3, 4)]


def test_a_burst_makes_owners_of_its_own_and_takes_them_away_again() -> None:
    come = Turn(10 * S, EventKind.BURST, come=(1,))
    stage = HandStage(2, bursts=[3], turns=[come, Turn(20 * S, EventKind.BURST_END, go=(1,))]).started()
    stage.run_for(15)
    assert (stage.load.live, stage.load.target, sorted(stage.cluster.owners)) == (5, 5, [0, 1])
    stage.run_for(15)
    rows = stage.finish()

    assert (stage.load.live, stage.load.target, sorted(stage.cluster.owners)) == (2, 2, [0])
    assert [(row.cause, row.state, row.slot) for row in rows] == [("burst", "bound", slot) for slot in (2, 3, 4)]
    assert [(event.at_us, event.kind, event.number) for event in stage.events] == [
        (stage.us(10), "burst", 3),
        (stage.us(20), "burst-end", 3),
    ]


def test_a_burst_that_never_binds_is_withdrawn_when_it_ends() -> None:
    turns = [Turn(10 * S, EventKind.BURST, come=(1,)), Turn(20 * S, EventKind.BURST_END, go=(1,))]
    stage = HandStage(2, bursts=[3], turns=turns)
    stage.cluster.place = lambda _pod: ""
    stage.started().run_for(30)

    assert [(row.cause, row.state) for row in stage.finish()] == [("burst", "void")] * 3


def test_demand_changes_as_soon_as_the_api_lets_it() -> None:
    stage = HandStage(2, 3, turns=[DOWN, UP]).started()
    stage.cluster.answer = lambda _call, _item: Answer.UNAVAILABLE
    stage.at(13, lambda: setattr(stage.cluster, "answer", lambda _call, _item: Answer.OK))
    stage.run_for(12)
    assert stage.load.live == 5
    stage.run_for(8)

    assert stage.load.live == 2
    assert stage.metrics.errors["scale"] == 3


def test_pods_of_a_step_that_never_came_still_wait_at_the_end() -> None:
    stage = HandStage(2, 3, turns=[DOWN, UP]).started()
    stage.at(20, lambda: setattr(stage.cluster, "keeps", False))
    stage.run_for(40)

    assert [(row.cause, row.state, row.appeared_us) for row in stage.finish()] == [("step", "waiting", None)] * 3


def test_steps_of_a_plan_scale_the_owners_that_the_plan_says() -> None:
    stage = quiet_stage(
        demandSteps=[{"atSeconds": 10, "targetMultiplier": 0.5}, {"atSeconds": 30, "targetMultiplier": 1.0}]
    )
    schedule = stage.plan.schedule(0)
    live = schedule.live(stage.plan.segments[1].multiplier)
    stage.seed()
    stage.soak()
    stage.run_for(20)

    assert [stage.cluster.owners[n].replicas for n in range(len(live))] == live
    assert stage.driver.live == sum(live) < 20
    stage.run_for(50)
    rows = stage.finish()
    assert (stage.driver.live, len(rows)) == (20, 20 - sum(live))
    assert Counter(event.kind for event in stage.events) == {"demand-step": 2, "growth": 1}


def test_a_scale_down_is_named_as_such() -> None:
    stage = quiet_stage(scaleDowns=[{"atSeconds": 10, "targetMultiplier": 0.5}])
    stage.whole()

    assert [event.kind for event in stage.events] == ["scale-down"]


def test_growth_is_told_in_machines_for_the_demand_that_grows() -> None:
    stage = quiet_stage(
        demandSteps=[{"atSeconds": 10, "targetMultiplier": 0.05}, {"atSeconds": 30, "targetMultiplier": 1.0}]
    )
    stage.whole()
    (growth,) = [event for event in stage.events if event.kind == "growth"]
    cluster = stage.plan.cluster(0)
    profile, group = cluster.need(cluster.workloads[0])
    moved = [event.number for event in stage.events if event.kind == "demand-step"][1]

    assert (growth.cluster, growth.fingerprint, growth.group) == (0, profile.fingerprint, group)
    assert growth.min_unit == "cpu=1000 memory=1073741824"
    assert growth.number == -(-moved // 10), "ten Pods to a machine"
    assert growth.at_us == stage.start_us + 30 * S


def test_a_burst_of_gangs_has_groups_of_its_own() -> None:
    gang = archetype(name="train", groupSizeRange=[4, 4], sameRack=True, burstOnly=True, instanceTypes=["large"])
    load = {
        "soakSeconds": 60,
        "churnPerMinute": 0,
        "bursts": [
            {"atSeconds": 20, "archetype": "train", "extraTarget": 8, "durationSeconds": 20, "selectivity": 1.0},
            {"atSeconds": 5, "archetype": "train", "extraTarget": 4, "durationSeconds": 50, "selectivity": 1.0},
        ],
    }
    plan = plan_of(profile_of(loadProfile=load), catalog_of(archetype(), gang))
    demand = demand_of(plan, plan.schedule(0), Templates(plan.archetypes))

    assert [turn.at_us // S for turn in demand.turns] == [5, 20, 40, 55]
    groups = [planned.identity.group for planned in demand.bursts]
    assert len(set(groups)) == len(groups) == 3
    assert [planned.owner.id for planned in demand.bursts] == [len(demand.owners) + n for n in range(3)]
    stage = Stage(plan)
    rows = stage.whole()
    assert Counter((row.cause, row.gang) for row in rows) == {("burst", True): 24}
    assert {row.group for row in rows if row.cluster == 0} == set(groups)


def test_standing_demand_is_created_and_makes_no_rows() -> None:
    stage = quiet_stage(openLoopDemandMultiplier=1.5)
    rows = stage.whole()

    assert len(stage.cluster.pods) == 30
    assert (stage.driver.live, stage.driver.target, rows) == (20, 20, [])


def test_bursts_happen_only_in_the_clusters_that_take_part() -> None:
    plan = shipped_plan("uber-5k")
    templates = Templates(plan.archetypes)
    for ordinal in range(2):
        drawn = [burst for burst in plan.bursts if ordinal in burst.clusters]
        assert len(demand_of(plan, plan.schedule(ordinal), templates).turns) == 2 * len(drawn)
