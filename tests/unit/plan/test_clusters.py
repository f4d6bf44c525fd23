"""A cluster at install: what folds, whose demand a machine is attributed to, and what is pre-bound where."""

from collections import Counter
from statistics import fmean

import pytest

from sample_plans import archetype, catalog_of, plan_of, profile_of, shipped_plan
from scaletest.catalog import Workload
from scaletest.model import Machine
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.plan.arrivals import Cause
from scaletest.plan.clusters import ClusterPlan
from scaletest.plan.plan import Plan

_HARD = {"topologyKey": ZONE_KEY, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


def _by_machine(cluster: ClusterPlan) -> list[tuple[Machine, list[Workload]]]:
    hosted: dict[int, list[Workload]] = {}
    for workload, runs in zip(cluster.workloads, cluster.runs, strict=True):
        for run in runs:
            hosted.setdefault(run.position, []).append(workload)
    return [(machine, hosted.get(n, [])) for n, machine in enumerate(cluster.machines())]


def _names(plan: Plan) -> list[str]:
    return [a.name for a in plan.archetypes]


@pytest.mark.parametrize("profile", ["dev-50", "uber-5k"])
def test_gang_stores_fold_and_training_gangs_do_not(profile: str) -> None:
    plan = shipped_plan(profile)
    folded: dict[str, set[bool]] = {}
    for workload in plan.cluster(0).workloads:
        kind = plan.archetypes[workload.archetype]
        if kind.gang and workload.replicas > 1:  # the quota may cut the last gang down to a single Pod, which folds
            folded.setdefault(kind.name, set()).add(plan.folds.folds(workload))
    assert folded.pop("memory-cache") == folded.pop("stateful-db") == {True}
    assert set(folded) == {"gpu-training-small", "gpu-training-medium"}
    assert set.union(*folded.values()) == {False}


def test_a_gang_folds_only_up_to_what_one_machine_of_the_fleet_holds() -> None:
    catalog = catalog_of(archetype(podsPerNode=3, sameRack=True, groupSizeRange=[1, 6]))
    folds = plan_of(catalog=catalog).folds
    gang = Workload("g", archetype=0, size=0, replicas=3, priority=1, spread=False)
    assert folds.folds(gang)
    assert not folds.folds(gang.truncated(4))


def test_another_archetypes_larger_machine_folds_a_gang_when_its_type_is_acceptable() -> None:
    gang = archetype(name="gang", podsPerNode=1, sameRack=True, groupSizeRange=[2, 4])
    workload = Workload("g", archetype=0, size=0, replicas=4, priority=1, spread=False)
    big = archetype(name="big", podsPerNode=4)
    assert plan_of(catalog=catalog_of(gang, big)).folds.folds(workload)
    assert not plan_of(catalog=catalog_of(gang, {**big, "instanceTypes": ["other"]})).folds.folds(workload)
    assert not plan_of(catalog=catalog_of(gang, {**big, "burstOnly": True})).folds.folds(workload)


def test_gang_machines_carry_the_fingerprint_and_group_of_the_gang_bound_on_them() -> None:
    plan = shipped_plan("dev-50")
    small = _names(plan).index("gpu-training-small")
    kind = plan.archetypes[small]
    checked = 0
    for ordinal in range(2):
        for machine, hosted in _by_machine(plan.cluster(ordinal)):
            for workload in hosted:
                if workload.archetype == small and workload.replicas > 1:
                    assert machine.attribution is not None
                    need = kind.need_profile(priority=workload.priority, spread=False)
                    assert machine.attribution.need_fingerprint == need.fingerprint
                    assert machine.attribution.group == f"cluster-{ordinal:04d}/{workload.name}"
                    assert machine.attribution.priority == 1000
                    assert machine.attribution.interruption_penalty_uusd == 16_384_000_000
                    checked += 1
    assert checked >= 70


def test_all_machines_of_a_gang_are_in_one_rack() -> None:
    plan = shipped_plan("dev-50")
    racks: dict[str, set[str | None]] = {}
    for machine, hosted in _by_machine(plan.cluster(0)):
        if hosted and plan.archetypes[hosted[0].archetype].name == "gpu-training-small":
            racks.setdefault(hosted[0].name, set()).add(machine.label(RACK_KEY))
    assert racks
    assert all(len(found) == 1 for found in racks.values())


def test_folded_machines_carry_the_stripped_fingerprint_and_no_group() -> None:
    plan = shipped_plan("dev-50")
    cache = _names(plan).index("memory-cache")
    stripped = plan.archetypes[cache].need_profile(priority=1000, spread=False).without_same.fingerprint
    found = [m for m, hosted in _by_machine(plan.cluster(0)) if hosted and hosted[0].archetype == cache]
    assert found
    for machine in found:
        assert machine.attribution is not None
        assert (machine.attribution.need_fingerprint, machine.attribution.group) == (stripped, "")


def test_empty_machines_carry_their_archetypes_plain_identity_and_no_group() -> None:
    plan = shipped_plan("dev-50")
    cluster = plan.cluster(0)
    empty = [n for n, (_, hosted) in enumerate(_by_machine(cluster)) if not hosted]
    machines = list(cluster.machines())
    assert empty
    for n in empty:
        kind, attribution = plan.archetypes[cluster.seats[n].archetype], machines[n].attribution
        assert attribution is not None
        plain = kind.need_profile(priority=max(kind.priorities), spread=False).without_same
        assert (attribution.need_fingerprint, attribution.group) == (plain.fingerprint, "")


def test_a_machine_shared_by_workloads_is_attributed_to_the_one_with_most_pods_on_it() -> None:
    plan = plan_of(catalog=catalog_of(archetype(priorityClasses=[1, 2])))
    for ordinal in range(2):
        cluster = plan.cluster(ordinal)
        most: dict[int, list[tuple[int, int]]] = {}
        for workload, runs in zip(cluster.workloads, cluster.runs, strict=True):
            for run in runs:
                most.setdefault(run.position, []).append((run.count, workload.priority))
        for n, machine in enumerate(cluster.machines()):
            if n in most:
                counts = max(count for count, _ in most[n])
                assert machine.attribution is not None
                assert (counts, machine.attribution.priority) in most[n]


def test_empty_machines_are_the_tail_of_the_keep_order() -> None:
    # 20 Pods need two of the machines built for ten; the surplus is the last one.
    profile = profile_of(scale={"machines": 2, "podsPerCluster": 20})
    big = archetype(name="web", zones=["a"])
    gang = archetype(name="gang", zones=["a"], instanceTypes=["g"], sameRack=True, groupSizeRange=[3, 3])
    cluster = plan_of(profile, catalog_of(big, gang)).cluster(0)
    for kind in range(2):
        used = [
            bool(hosted) for n, (_, hosted) in enumerate(_by_machine(cluster)) if cluster.seats[n].archetype == kind
        ]
        assert used == sorted(used, reverse=True)
        assert any(used)
        assert kind == 0 or not all(used)


@pytest.mark.parametrize("seed", range(1, 6))
def test_with_quota_dev_50_is_pre_bound_to_the_last_pod(seed: int) -> None:
    totals = shipped_plan("dev-50", seed=seed).totals
    assert totals.bound == totals.pods == 5_000
    assert sum(totals.stranded) == 0


def test_uber_5k_is_pre_bound_to_the_last_pod() -> None:
    plan = shipped_plan("uber-5k")
    assert plan.totals.bound == plan.totals.pods == 500_000
    assert sum(plan.totals.stranded) == 0
    wanted = {name: p.wanted for name, p in zip(_names(plan), plan.totals.placements, strict=True)}
    moved = {name: p.pods - p.wanted for name, p in zip(_names(plan), plan.totals.placements, strict=True)}
    assert sum(wanted.values()) == 500_000
    assert sum(moved.values()) == 0
    assert sum(abs(delta) for delta in moved.values()) < 0.01 * 500_000
    assert plan.totals.replacements[Cause.CHURN] == 300_000
    assert plan.inventory.machines == 25_728


def test_drawn_freely_about_a_tenth_of_dev_50_starts_pending() -> None:
    pending = []
    for seed in range(1, 41):
        plan = shipped_plan("dev-50-field", seed=seed)
        pending.append(1 - sum(plan.cluster(n).bound_slots for n in range(2)) / 5_000)
    assert 0.05 <= fmean(pending) <= 0.15


@pytest.mark.parametrize(("fraction", "bound"), [(0, 0), (0.25, 10), (0.5, 20)])
def test_a_fraction_pre_binds_that_many_pods(fraction: float, bound: int) -> None:
    plan = plan_of(profile_of(seed={"preBindFraction": fraction}))
    assert plan.totals.bound == bound
    assert plan.totals.pods == 40


def test_hard_spread_pods_alternate_between_zones() -> None:
    catalog = catalog_of(archetype(podsPerNode=1, spreadConstraint=_HARD, spreadConstraintProb=1.0))
    plan = plan_of(catalog=catalog)
    for ordinal in range(2):
        zones: Counter[str] = Counter()
        for workload, runs in zip(plan.cluster(ordinal).workloads, plan.cluster(ordinal).runs, strict=True):
            assert workload.spread
            for run in runs:
                zones[plan.cluster(ordinal).seats[run.position].zone] += run.count
        assert max(zones.values()) - min(zones.values()) <= 1
        assert zones.total() == 20


def test_a_zone_where_only_others_have_acceptable_machines_is_a_domain_of_the_spread() -> None:
    spread = archetype(name="critical", podsPerNode=20, spreadConstraint=_HARD, spreadConstraintProb=1.0)
    other = archetype(name="web", weight=2, podsPerNode=2)
    plan = plan_of(catalog=catalog_of(spread, other))
    cluster = plan.cluster(0)
    own = {seat.zone for seat in cluster.seats if seat.archetype == 0}
    used = {
        cluster.seats[run.position].zone
        for workload, runs in zip(cluster.workloads, cluster.runs, strict=True)
        if workload.archetype == 0
        for run in runs
    }
    assert own < used
    assert used == {"a", "b", "c"}


def test_a_hard_spread_without_any_acceptable_machine_stays_pending() -> None:
    # One machine in all, and the other archetype has it: found by the laws as a traceback.
    spread = archetype(name="spread", instanceTypes=["none"], spreadConstraint=_HARD, spreadConstraintProb=1.0)
    profile = profile_of(scale={"machines": 1, "podsPerCluster": 10}, seed={"configuredFraction": 0.5})
    cluster = plan_of(profile, catalog_of(archetype(weight=9, podsPerNode=1), spread)).cluster(0)
    assert cluster.placements[1].pods >= cluster.placements[1].bound == 0


def test_a_pod_with_a_pinned_label_never_borrows_a_machine_without_it() -> None:
    axes = [{"key": "team", "count": 1}]
    spread = archetype(name="pinned", podsPerNode=20, labelAxes=axes, spreadConstraint=_HARD, spreadConstraintProb=1.0)
    plan = plan_of(catalog=catalog_of(spread, archetype(name="web", weight=2, podsPerNode=2)))
    for machine, hosted in _by_machine(plan.cluster(0)):
        if any(workload.archetype == 0 for workload in hosted):
            assert machine.label("team") == "team-0"
