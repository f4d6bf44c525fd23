"""Archetypes compiled from a catalog file: integers for resources and money, one value for a gang, one for a spread."""

from dataclasses import dataclass
from functools import cached_property

from scaletest.model import (
    US_PER_SECOND,
    NeedProfile,
    Operator,
    Requirement,
    Resources,
    Spread,
    micro_usd,
    penalty_bucket,
)
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY
from scaletest.model.resources import COMMON_RESOURCES
from scaletest.profile import catalog as files

__all__ = ["Archetype", "Axis", "Gang", "HardSpread", "Size", "archetypes_of"]


@dataclass(frozen=True, slots=True)
class Size:
    """One size that Pods come in."""

    weight: int
    request: Resources


@dataclass(frozen=True, slots=True)
class Gang:
    """The workload must share one value of `topology_key`; its size is drawn from [smallest, largest]."""

    topology_key: str
    smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class HardSpread:
    """A DoNotSchedule spread, carried by a workload with this probability."""

    topology_key: str
    max_skew: int
    probability: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A label with `count` values that Pods pin themselves to."""

    key: str
    count: int

    def value(self, number: int) -> str:
        """Return the label's n-th value, named after the key's last segment."""
        return f"{self.key.rsplit('/', 1)[-1]}-{number}"


@dataclass(frozen=True)
class Archetype:
    """A kind of workload, ready for arithmetic."""

    name: str
    weight: int
    stateful: bool
    instance_types: tuple[str, ...]
    zones: tuple[str, ...]
    sizes: tuple[Size, ...]
    pods_per_node: int | None
    priorities: tuple[int, ...]
    interruption_penalty_uusd: int
    reclamation_penalty_uusd: int
    mean_lifetime_us: int
    gang: Gang | None
    burst_only: bool
    axes: tuple[Axis, ...]
    spread: HardSpread | None

    @cached_property
    def needs_device(self) -> bool:
        """Say whether any size asks for more than cpu, memory and scratch space."""
        return any(name not in COMMON_RESOURCES for size in self.sizes for name in size.request.names())

    def pods_per_machine(self, density: int) -> int:
        """Return how many of these Pods one machine is built for."""
        if self.pods_per_node is not None:
            return self.pods_per_node
        return 1 if self.needs_device else density

    def allocatable(self, *, size: int, density: int) -> Resources:
        """Return what a machine built for one size offers.

        This is the density-scaled figure of the original harness, kept so that results compare: an instance type's
        real shape plays no part. Devices scale only where podsPerNode says how many Pods share them.
        """
        factor = self.pods_per_machine(density)
        return Resources.of(
            {
                name: amount * (factor if name in COMMON_RESOURCES or self.pods_per_node else 1)
                for name, amount in self.sizes[size].request
            }
        )

    def need_profile(self, *, priority: int, spread: bool, axes: tuple[int, ...] = ()) -> NeedProfile:
        """Return the identity under which the engine sees a workload of this kind; equal ones are one object."""
        key = (priority, spread, axes)
        if key not in self._profiles:
            self._profiles[key] = self._need_profile(priority, axes, spread=spread)
        return self._profiles[key]

    @cached_property
    def _profiles(self) -> dict[tuple[int, bool, tuple[int, ...]], NeedProfile]:
        return {}

    def _need_profile(self, priority: int, axes: tuple[int, ...], *, spread: bool) -> NeedProfile:
        requirements = [
            Requirement(INSTANCE_TYPE_KEY, Operator.IN, self.instance_types),
            Requirement(ZONE_KEY, Operator.IN, self.zones),
            *(
                Requirement(axis.key, Operator.IN, (axis.value(number),))
                for axis, number in zip(self.axes, axes, strict=True)
            ),
        ]
        if self.gang is not None:
            requirements.append(Requirement(self.gang.topology_key, Operator.SAME))
        spreads = (Spread(self.spread.topology_key, self.spread.max_skew),) if spread and self.spread else ()
        return NeedProfile.of(
            requirements=tuple(requirements),
            spread=spreads,
            priority=priority,
            interruption=penalty_bucket(self.interruption_penalty_uusd),
            reclamation=penalty_bucket(self.reclamation_penalty_uusd),
        )


def archetypes_of(catalog: files.Catalog) -> tuple[Archetype, ...]:
    """Compile a catalog; the order of the file is kept, because largest remainders break ties by it."""
    return tuple(_compile(entry) for entry in catalog.archetypes)


def _compile(entry: files.Archetype) -> Archetype:
    buckets = entry.size_buckets or (files.SizeBucket(resources=entry.resources or {}),)
    return Archetype(
        name=entry.name,
        weight=entry.weight,
        stateful=entry.controller == "StatefulSet",
        instance_types=entry.instance_types,
        zones=entry.zones,
        sizes=tuple(Size(bucket.weight, Resources.parse(bucket.resources)) for bucket in buckets),
        pods_per_node=entry.pods_per_node,
        priorities=entry.priority_classes,
        interruption_penalty_uusd=micro_usd(entry.interruption_penalty),
        reclamation_penalty_uusd=micro_usd(entry.reclamation_penalty),
        mean_lifetime_us=entry.mean_lifetime_seconds * US_PER_SECOND,
        gang=_gang(entry),
        burst_only=entry.burst_only,
        axes=tuple(Axis(axis.key, axis.count) for axis in entry.label_axes),
        spread=_hard_spread(entry),
    )


def _gang(entry: files.Archetype) -> Gang | None:
    if entry.group_size_range is None:
        return None
    smallest, largest = entry.group_size_range
    return Gang(RACK_KEY if entry.same_rack else ZONE_KEY, smallest, largest)


def _hard_spread(entry: files.Archetype) -> HardSpread | None:
    constraint = entry.spread_constraint
    if constraint is None or constraint.when_unsatisfiable != "DoNotSchedule" or not entry.spread_constraint_prob:
        return None
    return HardSpread(constraint.topology_key, constraint.max_skew, entry.spread_constraint_prob)
