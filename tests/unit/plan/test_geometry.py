"""Clusters and Pods: demand is machines x density, whatever the substrate."""

import pytest

from sample_plans import plan_of, profile_of, shipped_plan, shipped_substrate
from scaletest.plan.geometry import Geometry, cluster_name


@pytest.mark.parametrize(
    ("machines", "density", "pods_per_cluster", "clusters", "last"),
    [
        (50, 100, 2_500, 2, 2_500),
        (50, 100, 3_000, 2, 2_000),
        (50, 100, 9_999, 1, 5_000),
        (1, 7, 3, 3, 1),
        (1, 1, 1, 1, 1),
    ],
)
def test_the_last_cluster_holds_what_remains(
    machines: int, density: int, pods_per_cluster: int, clusters: int, last: int
) -> None:
    geometry = Geometry.of(machines=machines, density=density, pods_per_cluster=pods_per_cluster)
    assert geometry.clusters == clusters
    assert geometry.pods_of(clusters - 1) == last
    assert sum(geometry.pods_of(n) for n in range(clusters)) == geometry.pods == machines * density


@pytest.mark.parametrize(
    ("machines", "given", "shards"),
    [(50, None, 1), (500_000, None, 1), (500_001, None, 2), (50, 3, 3)],
)
def test_a_shard_for_every_half_million_machines_unless_told(machines: int, given: int | None, shards: int) -> None:
    assert Geometry.of(machines=machines, density=1, pods_per_cluster=10, shards=given).shards == shards


def test_a_substrate_changes_nothing_about_the_demand() -> None:
    sim, kwok = shipped_plan("dev-50"), shipped_plan("dev-50", substrate="kwok")
    assert shipped_substrate("kwok").cluster.pods_per_cluster == 10_000
    assert kwok.geometry == sim.geometry
    assert kwok.digest == sim.digest


def test_the_legacy_name_of_pods_per_cluster_means_the_same() -> None:
    legacy = profile_of(scale={"podsPerCluster": None}, loadProfile={"target": 20})
    assert plan_of(legacy).geometry == plan_of().geometry


def test_cluster_names_sort_in_their_order() -> None:
    names = [cluster_name(n) for n in range(10_000)]
    assert names[:2] == ["cluster-0000", "cluster-0001"]
    assert names == sorted(names)
