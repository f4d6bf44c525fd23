"""Planned replacements: exact in number, drawn in instant and slot, never on a slot that is not live."""

from collections import Counter
from fractions import Fraction

import pytest

from sample_plans import Block, archetype, catalog_of, plan_of, profile_of, shipped_plan
from scaletest.plan.arrivals import Arrival, Cause, ClusterSchedule, segments_of
from scaletest.plan.plan import Plan

_QUIET: Block = {"microBurstRatePerMinute": 0}


def _plan(*, lifetime: int = 0, **load: object) -> Plan:
    return plan_of(profile_of(loadProfile={**_QUIET, **load}), catalog_of(archetype(meanLifetimeSeconds=lifetime)))


def _in_soak(plan: Plan) -> list[Arrival]:
    schedules = (plan.schedule(n) for n in range(plan.geometry.clusters))
    return [a for schedule in schedules for a in schedule.arrivals() if a.at_us < plan.profile.soak_us]


def test_dev_50_plans_360_replacements_by_churn_and_about_574_in_all() -> None:
    plan, totals = shipped_plan("dev-50"), shipped_plan("dev-50").totals
    assert totals.replacements[Cause.CHURN] == 360
    assert abs(totals.planned_replacements - 574) <= 25
    batch = next(p for a, p in zip(plan.archetypes, totals.placements, strict=True) if a.mean_lifetime_us)
    assert abs(totals.replacements[Cause.LIFETIME] - batch.pods * 180 / 600) <= 1


def test_the_base_churn_of_dev_50_is_360_under_every_seed() -> None:
    assert {shipped_plan("dev-50", seed=n).totals.replacements[Cause.CHURN] for n in range(1, 9)} == {360}


def test_planned_replacements_are_the_length_of_the_schedule_by_cause() -> None:
    plan = shipped_plan("dev-50")
    assert Counter(a.cause for a in _in_soak(plan)) == Counter(plan.totals.replacements)


def test_replacements_of_the_linger_are_counted_apart() -> None:
    plan = shipped_plan("dev-50")
    everything = sum(len(plan.schedule(n).arrivals()) for n in range(2))
    assert plan.totals.linger_replacements == everything - plan.totals.planned_replacements > 0
    assert max(a.at_us for n in range(2) for a in plan.schedule(n).arrivals()) < 180_000_000 + plan.linger_us


def test_arrivals_are_sorted_and_their_slots_exist() -> None:
    schedule = shipped_plan("dev-50").schedule(0)
    arrivals = schedule.arrivals()
    assert arrivals == sorted(arrivals)
    assert all(0 <= a.slot < schedule.cluster.slots for a in arrivals)
    assert all(a.at_us >= 0 for a in arrivals)


def test_only_pods_with_a_lifetime_end_by_it() -> None:
    plan = shipped_plan("dev-50")
    schedule = plan.schedule(0)
    aged = [a for a in schedule.arrivals() if a.cause is Cause.LIFETIME]
    kinds = {schedule.cluster.workloads[schedule.cluster.workload_of(a.slot)[0]].archetype for a in aged}
    assert {plan.archetypes[kind].name for kind in kinds} == {"cpu-batch"}


def test_without_jitter_churn_is_evenly_spaced() -> None:
    # 20 Pods x 1 a minute x 10 minutes in each cluster: one every three seconds, each in the middle of its stretch.
    schedule = _plan(jitteredChurn=False).schedule(0)
    instants = [a.at_us for a in schedule.arrivals() if a.at_us < 600_000_000]
    assert instants == list(range(1_500_000, 600_000_000, 3_000_000))


def test_jitter_moves_instants_and_not_their_number() -> None:
    assert len(_in_soak(_plan(jitteredChurn=True))) == len(_in_soak(_plan(jitteredChurn=False))) == 400


@pytest.mark.parametrize(("rate", "count"), [(0, 0), (0.024, 10), (0.01, 4), (0.0005, 0)])
def test_the_number_is_share_times_pods_times_minutes(rate: float, count: int) -> None:
    # 40 Pods over ten minutes; each of the two clusters rounds to the nearest whole Pod.
    assert len(_in_soak(_plan(churnPerMinute=rate))) == count


def test_micro_bursts_add_the_multiplied_part_of_one_second() -> None:
    # 20 Pods x 3 a minute is one a second in each cluster; five times that, every second, adds four.
    plan = _plan(churnPerMinute=3, microBurstRatePerMinute=60, microBurstFactor=5, soakSeconds=60)
    counts = plan.totals.replacements
    assert counts[Cause.CHURN] == 120
    assert counts[Cause.MICRO_BURST] == 2 * 60 * 4


def test_lifetimes_replace_pods_over_mean_life_per_second() -> None:
    assert _plan(churnPerMinute=0, lifetime=100).totals.replacements[Cause.LIFETIME] == 40 * 600 // 100


def test_segments_are_cut_where_demand_changes_and_where_the_soak_ends() -> None:
    steps = [{"atSeconds": 100, "targetMultiplier": 0.5}, {"atSeconds": 200, "targetMultiplier": 1.0}]
    load = profile_of(loadProfile={"demandSteps": steps}).load_profile
    segments = segments_of(load, soak_us=600_000_000, linger_us=33_000_000)
    assert [(s.start_us, s.end_us, s.multiplier) for s in segments] == [
        (0, 100_000_000, 1),
        (100_000_000, 200_000_000, Fraction(1, 2)),
        (200_000_000, 600_000_000, 1),
        (600_000_000, 633_000_000, 1),
    ]


def _stepped() -> ClusterSchedule:
    return _plan(lifetime=60, demandSteps=[{"atSeconds": 300, "targetMultiplier": 0.5}]).schedule(0)


def test_the_largest_workloads_go_first_until_demand_is_met() -> None:
    schedule = _stepped()
    before = [w.replicas for w in schedule.cluster.workloads]
    after = schedule.live(Fraction(1, 2))
    gone = [n for n, kept in zip(before, after, strict=True) if not kept]
    kept = [n for n in after if n]
    assert schedule.live(Fraction(1)) == before
    assert sum(after) <= sum(before) / 2
    assert min(gone) >= max(kept, default=0)
    assert sum(after) + min(gone) > sum(before) / 2


def test_slots_that_are_not_live_are_never_picked() -> None:
    schedule = _stepped()
    after = schedule.live(Fraction(1, 2))
    late = [a for a in schedule.arrivals() if a.at_us >= 300_000_000]
    assert late
    assert all(after[schedule.cluster.workload_of(a.slot)[0]] for a in late)
    early = {schedule.cluster.workload_of(a.slot)[0] for a in schedule.arrivals() if a.at_us < 300_000_000}
    assert any(not after[workload] for workload in early)


def test_churn_follows_the_live_pods() -> None:
    schedule = _stepped()
    minutes = Counter(a.at_us >= 300_000_000 for a in schedule.arrivals() if a.cause is Cause.CHURN and a.at_us < 6e8)
    assert minutes[False] == 20 * 5
    assert minutes[True] == sum(schedule.live(Fraction(1, 2))) * 5


def test_clusters_draw_apart() -> None:
    plan = shipped_plan("dev-50")
    assert plan.schedule(0).arrivals()[:5] != plan.schedule(1).arrivals()[:5]


def test_the_busiest_stretch_covers_every_window_of_one_binding_bar() -> None:
    plan = shipped_plan("dev-50")
    instants = sorted(a.at_us for a in _in_soak(plan))

    def most(length_us: int) -> int:
        return max(sum(start <= at < start + length_us for at in instants) for start in instants)

    assert plan.totals.busiest_us == 30_000_000
    assert most(30_000_000) <= plan.totals.busiest <= most(31_000_000)
