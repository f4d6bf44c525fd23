from collections import Counter
from itertools import repeat

import pytest
from unit.load.load_stage import Stage

from sample_plans import plan_of, profile_of, shipped_plan
from scaletest.plan.plan import Plan
from scaletest.ports.cluster import Answer


@pytest.mark.parametrize("plan", [shipped_plan("dev-50"), shipped_plan("dev-50-field")], ids=["quota", "free"])
def test_pods_are_bound_where_the_plan_says(plan: Plan) -> None:
    stage = Stage(plan)
    for cluster in stage.clusters:
        cluster.place = lambda _pod: ""
    stage.seed()
    for ordinal, cluster in enumerate(stage.clusters):
        planned = plan.cluster(ordinal)
        wanted: Counter[tuple[int, str]] = Counter()
        for slot, position in enumerate(planned.machine_of_slots()):
            if position >= 0:
                workload, _ = planned.workload_of(slot)
                wanted[workload, f"node-{planned.seats[position].machine_id}"] += 1
        found = Counter((pod.owner, pod.node) for pod in cluster.pods.values() if pod.node)

        assert found == wanted
        assert [owner.replicas for owner in cluster.owners.values()] == [w.replicas for w in planned.workloads]


def test_all_that_is_pre_bound_is_live_and_bound_and_no_request() -> None:
    plan = shipped_plan("dev-50")
    stage = Stage(plan)
    stage.seed()

    assert stage.driver.live == stage.driver.bound_ready == plan.totals.bound == 5000
    assert stage.driver.planned == plan.totals.planned_replacements
    assert stage.finish() == []


def test_what_is_not_pre_bound_is_a_fill() -> None:
    profile = profile_of(seed={"preBindFraction": 0.5}, loadProfile={"churnPerMinute": 0})
    plan = plan_of(profile)
    stage = Stage(plan)
    stage.clusters[1].place = lambda _pod: ""
    rows = stage.whole()
    unbound = plan.totals.pods - plan.totals.bound

    assert 0 < unbound == len(rows)
    assert Counter((row.cluster, row.cause, row.state) for row in rows) == {
        (0, "fill", "bound"): unbound // 2,
        (1, "fill", "waiting"): unbound // 2,
    }


def test_nodes_that_are_not_ready_hold_no_ready_pods() -> None:
    stage = Stage(plan_of())
    name, event = next(iter(stage.cluster.nodes.items()))
    stage.cluster.nodes[name] = event._replace(ready=False)
    stage.seed()
    there = sum(pod.node == name for pod in stage.cluster.pods.values())
    assert stage.driver.live - stage.driver.bound_ready == there > 0

    stage.cluster.make_ready(name)
    stage.run_for(1)
    assert stage.driver.bound_ready == stage.driver.live == 40


def test_seeding_goes_on_until_every_owner_is_there() -> None:
    stage = Stage(plan_of())
    troubles = iter([Answer.UNAVAILABLE, Answer.TIMEOUT, *repeat(Answer.OK, 1000)])
    stage.cluster.answer = lambda _call, _item: next(troubles)
    stage.seed()

    assert stage.driver.live == stage.driver.bound_ready == 40


def test_a_driver_says_what_a_scrape_is_to_read() -> None:
    stage = Stage(shipped_plan("dev-50"), edges=(30.0, 9.8))
    before = stage.samples()
    rows = stage.whole()
    after = stage.samples()

    def value(name: str, **labels: str) -> float:
        return after[name, tuple(sorted(labels.items()))]

    assert {row.state for row in rows} == {"bound", "waiting"}, "the last of the linger still wait"
    bound = [row for row in rows if row.state == "bound"]
    assert value("scaletest_binding_seconds_count") == len(bound) == bound[-1].obs_seq
    assert value("scaletest_binding_seconds_bucket", le="9.8") == len(bound)
    assert value("scaletest_binding_seconds_bucket", le="0.2") == 0
    assert value("scaletest_binding_seconds_sum") == pytest.approx(0.3 * len(bound))
    assert value("scaletest_loadgen_cr_created_total") == sum(len(c.owners) for c in stage.clusters)
    assert value("scaletest_loadgen_cr_deleted_total") == len(rows)
    assert (value("scaletest_loadgen_cr_active"), value("scaletest_loadgen_cr_target")) == (stage.driver.live, 5000)
    assert (before["scaletest_loadgen_steady_state", ()], value("scaletest_loadgen_steady_state")) == (0, 1)
    assert {name for name, _ in before} == {name for name, _ in after}
    assert not [name for name, _ in after if name.endswith("_created")]
    assert [value("scaletest_loadgen_errors_total", kind=kind) for kind in ("create", "delete", "scale", "watch")] == [
        0,
        0,
        0,
        0,
    ]
