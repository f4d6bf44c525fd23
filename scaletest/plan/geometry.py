"""How many clusters, and how many Pods in each: demand is machines x density on every substrate."""

from dataclasses import dataclass
from math import ceil
from typing import Final, Self

__all__ = ["MACHINES_PER_SHARD", "Geometry", "cluster_name"]

MACHINES_PER_SHARD: Final = 500_000
"""Above this many nominal machines another shard is added."""


def cluster_name(ordinal: int) -> str:
    """Return a cluster's name; it sorts in ordinal order."""
    return f"cluster-{ordinal:04d}"


@dataclass(frozen=True, slots=True)
class Geometry:
    """Clusters of `pods_per_cluster` Pods; the last one holds what remains."""

    machines: int
    density: int
    pods_per_cluster: int
    shards: int

    @classmethod
    def of(cls, *, machines: int, density: int, pods_per_cluster: int, shards: int | None = None) -> Self:
        """Return the geometry of a profile's scale block."""
        return cls(machines, density, pods_per_cluster, shards or ceil(machines / MACHINES_PER_SHARD))

    @property
    def pods(self) -> int:
        """Return the Pods of all clusters."""
        return self.machines * self.density

    @property
    def clusters(self) -> int:
        """Return the number of clusters."""
        return ceil(self.pods / self.pods_per_cluster)

    def pods_of(self, cluster: int) -> int:
        """Return the Pods of one cluster."""
        return min(self.pods_per_cluster, self.pods - cluster * self.pods_per_cluster)
