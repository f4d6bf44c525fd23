"""Workload objects drawn from a catalog: each draw is keyed by cluster, archetype, size and ordinal."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from scaletest.catalog.archetypes import Archetype
from scaletest.catalog.sizing import SERVICE_SIZES, STATEFUL_REPLICAS_MAX
from scaletest.model import Stream

__all__ = ["Workload", "WorkloadDraws"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload object; its replicas share every draw. `archetype` and `size` are positions in the catalog."""

    name: str
    archetype: int
    size: int
    replicas: int
    priority: int
    spread: bool
    axes: tuple[int, ...] = ()

    def truncated(self, replicas: int) -> "Workload":
        """Return the same workload with fewer replicas."""
        return self if replicas == self.replicas else replace(self, replicas=replicas)


@dataclass(frozen=True)
class WorkloadDraws:
    """All workload draws of one cluster."""

    seed: int
    cluster: str
    archetypes: tuple[Archetype, ...]

    def of_size(self, archetype: int, size: int) -> Iterator[Workload]:
        """Yield, without end, the workloads of one archetype and size."""
        kind = self.archetypes[archetype]
        stream = Stream.of(self.seed, "workload", self.cluster, kind.name, size)
        ordinal = 0
        while True:
            name = f"{kind.name}-{size}-{ordinal}" if len(kind.sizes) > 1 else f"{kind.name}-{ordinal}"
            yield _workload(kind, archetype, size=size, name=name, stream=stream, first=ordinal * _DRAWS)
            ordinal += 1

    def free(self) -> Iterator[Workload]:
        """Yield, without end, workloads of any archetype by weight: the unconstrained draw of the field."""
        stream = Stream.of(self.seed, "free-workload", self.cluster)
        ordinal = 0
        while True:
            archetype = stream.weighted(self._weights, ordinal * _DRAWS)
            kind = self.archetypes[archetype]
            size = stream.weighted([s.weight for s in kind.sizes], ordinal * _DRAWS + 1)
            yield _workload(
                kind, archetype, size=size, name=f"{kind.name}-{ordinal}", stream=stream, first=ordinal * _DRAWS
            )
            ordinal += 1

    @cached_property
    def _weights(self) -> list[int]:
        return [0 if a.burst_only else a.weight for a in self.archetypes]


# Draws set aside per workload; positions 0 and 1 choose archetype and size, the rest follow in _workload.
_DRAWS = 16


def _workload(kind: Archetype, archetype: int, *, size: int, name: str, stream: Stream, first: int) -> Workload:
    return Workload(
        name=name,
        archetype=archetype,
        size=size,
        replicas=_replicas(kind, stream, first),
        priority=kind.priorities[stream.below(len(kind.priorities), first + 4)],
        spread=bool(kind.spread and stream.chance(kind.spread.probability, first + 5)),
        axes=tuple(stream.below(axis.count, first + 6 + n) for n, axis in enumerate(kind.axes[: _DRAWS - 6])),
    )


def _replicas(kind: Archetype, stream: Stream, first: int) -> int:
    if kind.gang:
        return stream.between(kind.gang.smallest, kind.gang.largest, first + 2)
    _, low, high = SERVICE_SIZES[stream.weighted([weight for weight, _, _ in SERVICE_SIZES], first + 2)]
    replicas = stream.between(low, high, first + 3)
    return min(replicas, STATEFUL_REPLICAS_MAX) if kind.stateful else replicas
