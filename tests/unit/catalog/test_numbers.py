"""Every number of the share arithmetic, computed from the shipped catalog files."""

from fractions import Fraction

import pytest

from sample_plans import archetype, catalog_of, plan_of, profile_of, shipped_catalog, shipped_plan
from scaletest.catalog import Sizing, archetypes_of
from scaletest.catalog.sizing import apportion, expected_replicas
from scaletest.plan.inventory import Tier

_REALISTIC = Sizing(archetypes_of(shipped_catalog("realistic")), density=100)
_DEV = Sizing(archetypes_of(shipped_catalog("realistic-dev")), density=100)


def _percent(share: Fraction, places: int) -> str:
    return f"{float(share * 100):.{places}f}"


@pytest.mark.parametrize(
    ("name", "replicas", "per_machine", "pod_share", "machine_share"),
    [
        ("tiny-stateless", 21.375, 100, "75.45", "66.4"),
        ("cpu-service", 21.375, 100, "12.93", "11.4"),
        ("cpu-batch", 21.375, 100, "6.47", "5.7"),
        ("memory-cache", 4, 100, "1.76", "1.5"),
        ("stateful-db", 4, 100, "1.76", "1.5"),
        ("gpu-inference", 21.375, 8, "0.47", "5.2"),
        ("gpu-training-small", 5, 1, "0.035", "3.1"),
        ("gpu-training-medium", 12, 1, "0.047", "4.2"),
        ("gpu-training-large", 160, 1, "0.00", "0.0"),
        ("critical-realtime", 21.375, 100, "1.08", "0.95"),
    ],
)
def test_shares_of_the_realistic_catalog(
    name: str, replicas: float, per_machine: int, pod_share: str, machine_share: str
) -> None:
    at = [a.name for a in _REALISTIC.archetypes].index(name)
    assert expected_replicas(_REALISTIC.archetypes[at]) == Fraction(replicas)
    assert _REALISTIC.pods_per_machine[at] == per_machine
    assert _percent(_REALISTIC.pod_shares[at], len(pod_share.partition(".")[2])) == pod_share
    assert _percent(_REALISTIC.machine_shares[at], len(machine_share.partition(".")[2])) == machine_share


def test_shares_sum_to_one() -> None:
    for sizing in (_REALISTIC, _DEV):
        assert sum(sizing.pod_shares) == sum(sizing.machine_shares) == 1


def test_a_stateful_workload_that_is_no_gang_is_capped_at_25_replicas() -> None:
    (kind,) = archetypes_of(catalog_of(archetype(controller="StatefulSet")))
    assert expected_replicas(kind) == Fraction(1005, 100)


def test_gang_floors_are_one_largest_gang_in_every_zone_and_none_for_bursts() -> None:
    floors = dict(zip((a.name for a in _REALISTIC.archetypes), _REALISTIC.gang_floors, strict=True))
    assert {name: floor for name, floor in floors.items() if floor} == {
        "memory-cache": 15,
        "stateful-db": 15,
        "gpu-training-small": 24,
        "gpu-training-medium": 48,
    }


@pytest.mark.parametrize(
    ("sizing", "pods", "effective"),
    [
        (_REALISTIC, 500_000, 5_784),
        (_REALISTIC, 5_000_000, 56_892),
        (_REALISTIC, 50_000_000, 567_973),
        (_DEV, 5_000, 610),
    ],
)
def test_effective_machines(sizing: Sizing, pods: int, effective: int) -> None:
    assert sizing.effective_machines(pods) == effective


@pytest.mark.parametrize(
    ("sizing", "wanted", "allocated"),
    [(_REALISTIC, 289, 361), (_REALISTIC, 284, 357), (_REALISTIC, 283, 356), (_DEV, 305, 333)],
)
def test_one_cluster_after_its_gang_floors(sizing: Sizing, wanted: int, allocated: int) -> None:
    assert sum(sizing.allocate(wanted)) == allocated


@pytest.mark.parametrize(
    ("name", "effective", "per_cluster", "tiers"),
    [
        ("uber-5k", 5_784, 361, (7_220, 1_156, 17_352)),
        ("uber-50k", 56_892, 357, (71_400, 11_378, 170_676)),
        ("uber-500k", 567_973, 356, (712_000, 113_594, 1_703_919)),
        ("dev-50", 610, 333, (666, 760, 3_070)),
    ],
)
def test_tiers_of_the_ladder(name: str, effective: int, per_cluster: int, tiers: tuple[int, int, int]) -> None:
    inventory = shipped_plan(name).inventory
    assert inventory.effective_machines == effective
    assert sum(inventory.configured(0)) == per_cluster
    assert [sum(inventory.counts(tier)) for tier in Tier] == [*tiers, 0]
    assert inventory.machines == sum(tiers)


def test_most_machines_of_dev_50_are_for_inference() -> None:
    needed = [-(-5_000 * share // per) for share, per in zip(_DEV.pod_shares, _DEV.pods_per_machine, strict=True)]
    by_name = dict(zip((a.name for a in _DEV.archetypes), needed, strict=True))
    assert (by_name["gpu-inference"], by_name["gpu-training-medium"], by_name["gpu-training-small"]) == (318, 107, 72)


def test_each_shard_rounds_down_and_raises_its_floors_on_its_own() -> None:
    gang = catalog_of(archetype(sameRack=True, groupSizeRange=[2, 4], podsPerNode=1))
    one = plan_of(profile_of(topology={"shardReplicas": 1}), gang).inventory
    three = plan_of(profile_of(topology={"shardReplicas": 3}), gang).inventory
    assert one.effective_machines == 40 + 12
    assert (one.idle, three.idle) == ((12,), (36,))
    assert (one.speculative, three.speculative) == ((156,), (156,))


def test_no_tier_is_raised_to_its_floors_when_it_is_empty() -> None:
    assert sum(_REALISTIC.allocate(0)) == 0


@pytest.mark.parametrize(
    ("total", "shares", "parts"),
    [
        (0, [1, 1], [0, 0]),
        (-3, [1, 1], [0, 0]),
        (7, [0, 0], [0, 0]),
        (7, [], []),
        (1, [1, 1, 1], [1, 0, 0]),
        (2, [1, 1, 1], [1, 1, 0]),
        (10, [1, 1, 1], [4, 3, 3]),
        (3, [5, 3, 2], [1, 1, 1]),
        (10, [7, 0, 3], [7, 0, 3]),
        (5, [Fraction(1, 3), Fraction(1, 6)], [3, 2]),
    ],
)
def test_apportion_gives_floors_first_then_largest_remainders_ties_in_order(
    total: int, shares: list[Fraction], parts: list[int]
) -> None:
    assert apportion(total, [Fraction(share) for share in shares]) == parts
