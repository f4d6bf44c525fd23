"""What else happens during the soak: bursts and who takes part, steps, losses, actions, in order."""

from collections.abc import Iterator

import pytest

from sample_plans import archetype, catalog_of, plan_of, profile_of, shipped_plan
from scaletest.catalog import Workload
from scaletest.plan.events import EventKind
from scaletest.plan.plan import Plan


def _burst(**keys: object) -> dict[str, object]:
    return {"atSeconds": 60, "archetype": "web", "extraTarget": 30, "durationSeconds": 90, "selectivity": 1.0, **keys}


def _plan(*bursts: dict[str, object], **archetype_keys: object) -> Plan:
    scale = {"machines": 40, "density": 10, "podsPerCluster": 20}
    return plan_of(
        profile_of(scale=scale, loadProfile={"bursts": list(bursts)}), catalog_of(archetype(**archetype_keys))
    )


def _workloads(plan: Plan, cluster: int = 0, number: int = 0) -> Iterator[Workload]:
    burst = plan.bursts[number]
    return burst.workloads(cluster, seed=plan.inputs.random_seed, archetypes=plan.archetypes)


def test_a_burst_comes_and_goes_when_it_says() -> None:
    (burst,) = _plan(_burst()).bursts
    assert (burst.at_us, burst.until_us) == (60_000_000, 150_000_000)


@pytest.mark.parametrize(("selectivity", "low", "high"), [(0.0, 0, 0), (0.5, 5, 15), (1.0, 20, 20)])
def test_selectivity_is_each_clusters_own_chance(selectivity: float, low: int, high: int) -> None:
    (burst,) = _plan(_burst(selectivity=selectivity)).bursts
    assert low <= len(burst.clusters) <= high


def test_two_bursts_draw_their_clusters_apart() -> None:
    first, second = _plan(_burst(selectivity=0.5), _burst(selectivity=0.5)).bursts
    assert first.clusters != second.clusters


def test_a_burst_of_plain_pods_lands_exactly_on_its_target() -> None:
    plan = _plan(_burst(extraTarget=137))
    assert sum(w.replicas for w in _workloads(plan)) == 137


def test_a_gang_burst_is_never_cut_short() -> None:
    plan = _plan(_burst(extraTarget=10), sameRack=True, groupSizeRange=[4, 6])
    sizes = [w.replicas for w in _workloads(plan)]
    assert all(4 <= n <= 6 for n in sizes)
    assert sum(sizes) >= 10 > sum(sizes[:-1])


def test_clusters_and_bursts_draw_other_workloads() -> None:
    plan = _plan(_burst(extraTarget=500), _burst(extraTarget=500))
    drawn = [[w.replicas for w in _workloads(plan, *which)] for which in ((0, 0), (1, 0), (0, 1))]
    assert drawn[0] != drawn[1]
    assert drawn[0] != drawn[2]


def test_a_burst_of_an_unknown_archetype_is_left_to_preflight() -> None:
    assert _plan(_burst(archetype="wbe")).bursts == ()


def test_events_are_in_order_and_say_what_happens() -> None:
    plan = plan_of(
        profile_of(
            loadProfile={
                "bursts": [_burst(selectivity=1.0)],
                "demandSteps": [{"atSeconds": 200, "targetMultiplier": 0.5}],
            },
            provider={
                "losses": [{"atSeconds": 10, "count": 2, "everySeconds": 250, "repairSeconds": 30}],
                "stockOuts": [{"atSeconds": 20, "durationSeconds": 40, "zones": ["a"]}],
            },
            world={"emptyRollups": [{"atSeconds": 30, "cluster": 1}]},
            runnerActions=[{"atSeconds": 300, "action": "restart-engine"}],
        )
    )
    assert [(e.at_us // 10**6, e.kind, e.what) for e in plan.events] == [
        (10, EventKind.LOSS, "2 Configured machines vanish, back after 30 s"),
        (20, EventKind.STOCK_OUT, "no a for 40 s"),
        (30, EventKind.EMPTY_ROLLUP, "cluster-0001 sends an empty roll-up"),
        (60, EventKind.BURST, "30 web Pods more in 2 clusters"),
        (150, EventKind.BURST_END, "the web burst ends"),
        (200, EventKind.DEMAND_STEP, "demand goes to 50%"),
        (260, EventKind.LOSS, "2 Configured machines vanish, back after 30 s"),
        (300, EventKind.ACTION, "restart-engine"),
        (510, EventKind.LOSS, "2 Configured machines vanish, back after 30 s"),
    ]


def test_a_loss_without_a_period_happens_once() -> None:
    plan = plan_of(profile_of(provider={"losses": [{"atSeconds": 10, "count": 3}]}))
    assert [(e.at_us, e.machines) for e in plan.events] == [(10_000_000, 3)]


def test_shipped_drills() -> None:
    down = shipped_plan("reclaim-cycle-5k").events
    steps = shipped_plan("oscillation-5k").events
    assert [(e.at_us // 10**6, e.kind) for e in down] == [(600, EventKind.SCALE_DOWN)]
    assert [e.at_us // 10**6 for e in steps] == [720, 1440, 2160, 2880]
    (burst,) = shipped_plan("preemption-5k").bursts
    assert (burst.at_us, burst.extra_target, len(burst.clusters)) == (600_000_000, 1_500, 20)
