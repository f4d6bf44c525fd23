"""Laws of every plan, over random small catalogs and profiles."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sample_plans import archetype, catalog_of, plan_of, profile_of
from scaletest.catalog import Archetype, Workload
from scaletest.catalog.sizing import apportion
from scaletest.model import Machine, Operator
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.model.instants import exact
from scaletest.plan.arrivals import Cause
from scaletest.plan.clusters import ClusterPlan
from scaletest.plan.inventory import Tier
from scaletest.plan.plan import Plan

_TYPES = ("small", "large", "accelerated")
_STEPS: tuple[tuple[float, ...], ...] = ((), (7,), (5.5, 20))


def _some(values: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


_requests = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["100m", "250m", "1", "1500m"]), "memory": st.sampled_from(["64Mi", "1Gi", "3Gi"])},
    optional={"nvidia.com/gpu": st.sampled_from(["1", "2"])},
)
_spreads = st.fixed_dictionaries(
    {
        "topologyKey": st.sampled_from([ZONE_KEY, RACK_KEY]),
        "maxSkew": st.integers(1, 3),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    }
)


@st.composite
def _archetypes(draw: st.DrawFn, name: str, *, bursts: bool, hard: bool) -> dict[str, object]:
    sizes = draw(st.lists(_requests, min_size=1, max_size=2))
    keys: dict[str, object] = {
        "name": name,
        "weight": draw(st.integers(1, 5)),
        "controller": draw(st.sampled_from(["Deployment", "StatefulSet"])),
        "instanceTypes": draw(_some(_TYPES)),
        "zones": draw(_some(("a", "b", "c"))),
        "resources": None,
        "sizeBuckets": [{"weight": draw(st.integers(1, 3)), "resources": size} for size in sizes],
        "podsPerNode": draw(st.none() | st.integers(1, 6)),
        "priorityClasses": draw(st.lists(st.sampled_from([100, 1000, 10**6]), min_size=1, max_size=2, unique=True)),
        "meanLifetimeSeconds": draw(st.sampled_from([0, 0, 30])),
        "labelAxes": draw(st.sampled_from([[], [], [{"key": "team", "count": 2}]])),
        "burstOnly": bursts and draw(st.booleans()),
    }
    kind = "spread" if hard else draw(st.sampled_from(["plain", "spread", "rack", "zone"]))
    if kind == "spread":
        keys["spreadConstraint"] = draw(_spreads) | ({"whenUnsatisfiable": "DoNotSchedule"} if hard else {})
        keys["spreadConstraintProb"] = draw(st.sampled_from([0.5, 1.0]))
    elif kind != "plain":
        smallest = draw(st.integers(1, 4))
        keys["sameRack" if kind == "rack" else "sameZone"] = True
        keys["groupSizeRange"] = [smallest, smallest + draw(st.integers(0, 3))]
    return dict(archetype(**keys))


@st.composite
def _plans(draw: st.DrawFn, *, hard_spreads: bool = False) -> Plan:
    names = ("w", "x", "y", "z")[: draw(st.integers(1, 4))]
    kinds = [draw(_archetypes(name, bursts=name != "w", hard=hard_spreads)) for name in names]
    machines, density = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    profile = profile_of(
        scale={
            "machines": machines,
            "density": density,
            "podsPerCluster": draw(st.integers(-(-machines * density // 3), machines * density + 1)),
        },
        seed={
            "configuredFraction": draw(st.sampled_from([0.3, 0.7, 1.0])),
            "speculativeMultiplier": draw(st.integers(0, 2)),
            "preBindFraction": draw(st.sampled_from([0, 0.25, 0.5, 1.0, 1.0])),
        },
        load={"demandDraw": "quota" if hard_spreads else draw(st.sampled_from(["quota", "free"]))},
        loadProfile={
            "soakSeconds": draw(st.sampled_from([30, 61.5])),
            "churnPerMinute": draw(st.sampled_from([0, 0.3, 2.0])),
            "microBurstRatePerMinute": draw(st.sampled_from([0, 20])),
            "jitteredChurn": draw(st.booleans()),
            "demandSteps": [
                {"atSeconds": at, "targetMultiplier": draw(st.sampled_from([0.25, 0.6, 1.0]))}
                for at in draw(st.sampled_from(_STEPS))
            ],
        },
    )
    return plan_of(profile, catalog_of(*kinds), seed=draw(st.integers(0, 2**31)))


def _clusters(plan: Plan) -> Iterator[ClusterPlan]:
    return (plan.cluster(ordinal) for ordinal in range(plan.geometry.clusters))


def _placed(cluster: ClusterPlan) -> Iterator[tuple[Workload, Archetype, Machine, int]]:
    kinds, machines = cluster.inventory.sizing.archetypes, list(cluster.machines())
    for workload, runs in zip(cluster.workloads, cluster.runs, strict=True):
        for run in runs:
            yield workload, kinds[workload.archetype], machines[run.position], run.count


@given(_plans())
def test_no_machine_holds_more_than_it_offers_in_any_dimension(plan: Plan) -> None:
    for cluster in _clusters(plan):
        left = {machine.id: machine.allocatable for machine in cluster.machines()}
        pods: Counter[str] = Counter()
        for workload, kind, machine, count in _placed(cluster):
            wanted = kind.sizes[workload.size].request.times(count)
            assert left[machine.id].covers(wanted)
            left[machine.id] = left[machine.id].minus(wanted)
            pods[machine.id] += count
        assert max(pods.values(), default=0) <= plan.max_pods


@given(_plans())
def test_every_bound_pod_accepts_its_machine(plan: Plan) -> None:
    for cluster in _clusters(plan):
        for workload, kind, machine, _ in _placed(cluster):
            need = kind.need_profile(priority=workload.priority, spread=False, axes=workload.axes)
            for requirement in need.requirements:
                value = machine.label(requirement.key)
                assert requirement.operator is Operator.SAME or value in requirement.values, requirement


@given(_plans())
def test_a_gang_is_bound_whole_in_one_domain_or_not_at_all(plan: Plan) -> None:
    for cluster in _clusters(plan):
        domains: dict[str, set[str | None]] = {}
        bound: Counter[str] = Counter()
        for workload, kind, machine, count in _placed(cluster):
            if kind.gang:
                domains.setdefault(workload.name, set()).add(machine.label(kind.gang.topology_key))
                bound[workload.name] += count
        assert all(len(values) == 1 for values in domains.values())
        assert all(bound[w.name] in {0, w.replicas} for w in cluster.workloads if w.name in bound)


@given(_plans(hard_spreads=True))
def test_hard_spreads_keep_their_skew_over_every_domain_the_scheduler_sees(plan: Plan) -> None:
    for cluster in _clusters(plan):
        machines = list(cluster.machines())
        for at, kind in enumerate(plan.archetypes):
            if kind.spread is None:
                continue
            key = kind.spread.topology_key
            counts = {
                machine.label(key): 0
                for machine in machines
                if machine.instance_type in kind.instance_types and machine.zone in kind.zones
            }
            for workload, _, machine, count in _placed(cluster):
                if workload.archetype == at:
                    counts[machine.label(key)] += count
            assert not counts or max(counts.values()) - min(counts.values()) <= kind.spread.max_skew
            assert cluster.stranded[at] == 0, "a Pod of a balanced spread can always go back"


@given(_plans())
def test_slots_are_the_pods_of_the_cluster_and_bound_ones_stay_within_the_fraction(plan: Plan) -> None:
    fraction = exact(plan.profile.seed.pre_bind_fraction)
    for cluster in _clusters(plan):
        pods = plan.geometry.pods_of(cluster.ordinal)
        column = cluster.machine_of_slots()
        assert cluster.slots == len(column) == sum(w.replicas for w in cluster.workloads) == pods
        assert cluster.bound_slots == sum(position >= 0 for position in column) <= pods * fraction
        assert len({w.name for w in cluster.workloads}) == len(cluster.workloads)
        assert sum(p.wanted for p in cluster.placements) == sum(p.pods for p in cluster.placements) == pods
        assert sum(p.bound for p in cluster.placements) == cluster.bound_slots
        assert [cluster.workload_of(slot) for slot in range(pods)] == [
            (at, k) for at, w in enumerate(cluster.workloads) for k in range(w.replicas)
        ]


@given(_plans())
def test_no_workload_that_only_bursts_is_there_at_the_start(plan: Plan) -> None:
    for cluster in _clusters(plan):
        assert not any(plan.archetypes[w.archetype].burst_only for w in cluster.workloads)


@given(_plans())
def test_machines_are_numbered_once_and_stand_where_they_were_counted(plan: Plan) -> None:
    inventory = plan.inventory
    seats = [seat for cluster in range(plan.geometry.clusters) for seat in inventory.configured_seats(cluster)]
    for tier in (Tier.IDLE, Tier.SPECULATIVE, Tier.SPOT):
        shared = list(inventory.shared_seats(tier))
        for at, kind in enumerate(plan.archetypes):
            for key in (RACK_KEY, ZONE_KEY):
                stand = Counter(s.rack if key == RACK_KEY else s.zone for s in shared if s.archetype == at)
                assert inventory.domain_sizes(at, tier, key) == stand, kind.name
        seats += shared
    assert [seat.ordinal for seat in seats] == list(range(inventory.machines))
    assert sorted(seat.machine_id for seat in seats) == [seat.machine_id for seat in seats]


@given(_plans())
def test_arrivals_are_as_many_as_counted_in_order_and_on_live_slots(plan: Plan) -> None:
    soak_us = plan.profile.soak_us
    for ordinal in range(plan.geometry.clusters):
        schedule = plan.schedule(ordinal)
        arrivals = schedule.arrivals()
        assert arrivals == sorted(arrivals)
        assert schedule.counts(until_us=soak_us) == Counter(a.cause for a in arrivals if a.at_us < soak_us)
        assert schedule.counts(until_us=soak_us + plan.linger_us).total() == len(arrivals)
        assert schedule.per_second(until_us=soak_us).total() == sum(a.at_us < soak_us for a in arrivals)
        live = {segment.start_us: schedule.live(segment.multiplier) for segment in schedule.segments}
        for arrival in arrivals:
            start = max(at for at in live if at <= arrival.at_us)
            workload, k = schedule.cluster.workload_of(arrival.slot)
            assert k < live[start][workload]


@given(_plans())
def test_churn_never_drifts_from_its_rate_by_a_whole_pod(plan: Plan) -> None:
    rate = exact(plan.profile.load_profile.churn_per_minute)
    for ordinal in range(plan.geometry.clusters):
        schedule = plan.schedule(ordinal)
        wanted = sum(
            (sum(schedule.live(s.multiplier)) * rate * s.length_us / 60_000_000 for s in schedule.segments), Fraction(0)
        )
        planned = schedule.counts(until_us=schedule.segments[-1].end_us)[Cause.CHURN]
        assert abs(planned - wanted) <= Fraction(1, 2)


@given(_plans())
def test_a_plan_is_a_function_of_its_inputs(plan: Plan) -> None:
    again = Plan(plan.inputs)
    assert again.digest == plan.digest
    assert again.schedule(0).arrivals() == plan.schedule(0).arrivals()


_shares = st.lists(st.fractions(0, 100, max_denominator=1000), max_size=12)


@given(st.integers(0, 10**9), _shares)
def test_apportioned_parts_sum_exactly_and_stay_within_one_of_the_exact_share(
    total: int, shares: list[Fraction]
) -> None:
    parts = apportion(total, shares)
    whole = sum(shares)
    if not whole:
        assert parts == [0] * len(shares)
        return
    assert sum(parts) == total
    assert all(abs(part - total * share / whole) < 1 for part, share in zip(parts, shares, strict=True))


@given(st.integers(0, 1000), _shares)
def test_a_larger_share_never_gets_less(total: int, shares: list[Fraction]) -> None:
    parts = apportion(total, shares)
    ranked = sorted(zip(shares, parts, strict=True))
    assert all(a <= b for (share, a), (more, b) in pairwise(ranked) if share < more)
