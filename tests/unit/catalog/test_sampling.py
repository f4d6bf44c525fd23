"""Workload draws: keyed by cluster, kind, size and ordinal; within the ranges of the catalog."""

from collections import Counter
from itertools import islice

import pytest

from sample_plans import archetype, catalog_of, shipped_catalog
from scaletest.catalog import Archetype, Workload, WorkloadDraws, archetypes_of
from scaletest.model.demand import ZONE_KEY

_HARD = {"topologyKey": ZONE_KEY, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


def _drawn(kinds: tuple[Archetype, ...], count: int, *, cluster: str = "cluster-0000", seed: int = 1) -> list[Workload]:
    return list(islice(WorkloadDraws(seed, cluster, kinds).of_size(0, 0), count))


def test_service_sizes_come_as_often_as_they_are_weighted() -> None:
    kinds = archetypes_of(catalog_of())
    sizes = [w.replicas for w in _drawn(kinds, 10_000)]
    ranges = Counter((n > 5) + (n > 25) + (n > 100) for n in sizes)
    assert min(sizes) == 1
    assert 390 <= max(sizes) <= 400
    assert all(abs(ranges[i] - weight * 100) < 250 for i, weight in enumerate((55, 30, 12, 3)))


def test_a_stateful_workload_has_at_most_25_replicas() -> None:
    kinds = archetypes_of(catalog_of(archetype(controller="StatefulSet")))
    assert max(w.replicas for w in _drawn(kinds, 1_000)) == 25


def test_gang_sizes_fill_their_range() -> None:
    kinds = archetypes_of(catalog_of(archetype(sameRack=True, groupSizeRange=[3, 5])))
    assert {w.replicas for w in _drawn(kinds, 200)} == {3, 4, 5}


def test_priority_spread_and_labels_are_drawn_for_each_workload() -> None:
    kinds = archetypes_of(
        catalog_of(
            archetype(
                priorityClasses=[100, 1000],
                spreadConstraint=_HARD,
                spreadConstraintProb=0.5,
                labelAxes=[{"key": "team", "count": 2}, {"key": "tier", "count": 3}],
            )
        )
    )
    drawn = {(w.priority, w.spread, w.axes) for w in _drawn(kinds, 2_000)}
    assert len(drawn) == 2 * 2 * 2 * 3


def test_names_are_unique_and_a_draw_does_not_depend_on_how_many_came_before() -> None:
    kinds = archetypes_of(shipped_catalog("realistic"))
    few, many = _drawn(kinds, 10), _drawn(kinds, 1_000)
    assert few == many[:10]
    assert len({w.name for w in many}) == 1_000


@pytest.mark.parametrize(("cluster", "seed"), [("cluster-0001", 1), ("cluster-0000", 2)])
def test_another_cluster_or_seed_draws_other_workloads(cluster: str, seed: int) -> None:
    kinds = archetypes_of(catalog_of())
    ours = [w.replicas for w in _drawn(kinds, 50)]
    assert ours != [w.replicas for w in _drawn(kinds, 50, cluster=cluster, seed=seed)]


def test_adding_an_archetype_leaves_the_draws_of_the_others_alone() -> None:
    alone = archetypes_of(catalog_of(archetype(name="web")))
    beside = archetypes_of(catalog_of(archetype(name="web"), archetype(name="db")))
    assert _drawn(alone, 50) == _drawn(beside, 50)


def test_the_free_draw_follows_weights_and_never_draws_what_only_bursts() -> None:
    kinds = archetypes_of(
        catalog_of(archetype(name="a", weight=3), archetype(name="b", weight=1), archetype(name="c", burstOnly=True))
    )
    drawn = Counter(w.archetype for w in islice(WorkloadDraws(1, "cluster-0000", kinds).free(), 4_000))
    assert set(drawn) == {0, 1}
    assert abs(drawn[0] - 3_000) < 150


def test_the_free_draw_of_sizes_follows_their_weights() -> None:
    (tiny, *_) = kinds = archetypes_of(shipped_catalog("realistic"))
    sizes = Counter(w.size for w in islice(WorkloadDraws(1, "c", kinds).free(), 4_000) if w.archetype == 0)
    assert [size.weight for size in tiny.sizes] == [60, 40]
    assert abs(sizes[0] / sizes.total() - 0.6) < 0.05


def test_a_truncated_workload_is_the_same_workload_with_fewer_replicas() -> None:
    (workload,) = _drawn(archetypes_of(catalog_of()), 1)
    cut = workload.truncated(1)
    assert (cut.name, cut.priority, cut.replicas) == (workload.name, workload.priority, 1)
