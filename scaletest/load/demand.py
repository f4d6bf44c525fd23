"""What one cluster is to be given, derived from the plan: owners with their places, arrivals in columns, turns.

Owners are numbered through: the plan's workloads, then those of bursts, then the standing extra demand. The last are
never expected to bind; they have no slots and make no rows.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise, repeat
from typing import Final

from scaletest.catalog import Workload, WorkloadDraws
from scaletest.evidence.rows import EventRow
from scaletest.load.templates import Templates
from scaletest.load.timing import CAUSES, Identity
from scaletest.model import Resources, microseconds
from scaletest.model.instants import exact
from scaletest.plan.arrivals import ClusterSchedule
from scaletest.plan.clusters import ClusterPlan
from scaletest.plan.events import EventKind
from scaletest.plan.plan import Plan
from scaletest.ports.cluster import Owner

__all__ = ["Arrivals", "ClusterDemand", "PlannedOwner", "Turn", "demand_of"]

_FROM: Final = {cause: number for number, cause in enumerate(CAUSES)}


@dataclass(frozen=True, slots=True)
class PlannedOwner:
    """An owner as it is created, and as rows name it."""

    owner: Owner
    identity: Identity
    machines: tuple[str, ...] = ()
    """Machine ids that its first Pods are bound to."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Planned replacements in order, in columns; instants count from soak start."""

    at_us: "array[int]"
    slot: "array[int]"
    cause: "array[int]"

    @classmethod
    def of(cls, schedule: ClusterSchedule) -> "Arrivals":
        """Pack a schedule."""
        packed = cls(array("q"), array("i"), array("b"))
        for arrival in schedule.arrivals():
            packed.at_us.append(arrival.at_us)
            packed.slot.append(arrival.slot)
            packed.cause.append(_FROM[arrival.cause])
        return packed


@dataclass(frozen=True, slots=True)
class Turn:
    """Owners that come and go at one instant after soak start."""

    at_us: int
    kind: EventKind
    come: tuple[int, ...] = ()
    go: tuple[int, ...] = ()
    growth: tuple[EventRow, ...] = ()
    """What grows by it, in machines; the instants are filled in when it happens."""


@dataclass(frozen=True, slots=True)
class ClusterDemand:
    """Everything the driver will do in one cluster."""

    owners: tuple[PlannedOwner, ...]
    """The plan's workloads: there from the seed on."""
    bursts: tuple[PlannedOwner, ...]
    standing: tuple[Owner, ...]
    """Demand that only waits."""
    arrivals: Arrivals
    turns: tuple[Turn, ...]


def demand_of(plan: Plan, schedule: ClusterSchedule, templates: Templates) -> ClusterDemand:
    """Derive what one cluster is to be given; nothing of its plan is kept."""
    cluster = schedule.cluster
    ordinal = cluster.ordinal
    kit = _Kit(plan, cluster, templates)
    places = _machines_of(cluster)
    owners = tuple(kit.owner(n, workload, next(places)) for n, workload in enumerate(cluster.workloads))
    turns = list(_steps(plan, schedule, kit))
    bursts: list[PlannedOwner] = []
    for burst in plan.bursts:
        if ordinal not in burst.clusters:
            continue
        drawn = burst.workloads(ordinal, seed=plan.inputs.random_seed, archetypes=plan.archetypes)
        # Names of bursts repeat those of the plan; a gang's group is made from its name and must be its own.
        workloads = [replace(w, name=f"burst-{burst.number}-{w.name}") for w in drawn]
        first = len(owners) + len(bursts)
        numbers = tuple(range(first, first + len(workloads)))
        bursts += [kit.owner(n, workload) for n, workload in zip(numbers, workloads, strict=True)]
        growth = tuple(kit.growth([*cluster.workloads, *workloads], workloads))
        turns.append(Turn(burst.at_us, EventKind.BURST, come=numbers, growth=growth))
        turns.append(Turn(burst.until_us, EventKind.BURST_END, go=numbers))
    standing = tuple(
        kit.owner(len(owners) + len(bursts) + n, workload).owner for n, workload in enumerate(_standing(plan, cluster))
    )
    turns.sort(key=lambda turn: turn.at_us)
    return ClusterDemand(owners, tuple(bursts), standing, Arrivals.of(schedule), tuple(turns))


@dataclass(frozen=True, slots=True)
class _Kit:
    """What owners of one cluster are made with."""

    plan: Plan
    cluster: ClusterPlan
    templates: Templates

    def owner(self, number: int, workload: Workload, machines: tuple[str, ...] = ()) -> PlannedOwner:
        kind = self.plan.archetypes[workload.archetype]
        profile, group = self.cluster.need(workload)
        owner = Owner(number, workload.name, workload.replicas, self.templates.of(workload))
        identity = Identity(
            workload.name, kind.name, workload.priority, profile.fingerprint, group, kind.gang is not None
        )
        return PlannedOwner(owner, identity, machines)

    def growth(self, present: Iterable[Workload], more: Sequence[Workload]) -> Iterator[EventRow]:
        """Yield, by demand, how many machines its growth explains; `present` decides each demand's smallest piece."""
        units: dict[str, Resources] = {}
        for workload in present:
            fingerprint = self.cluster.need(workload)[0].fingerprint
            units[fingerprint] = self._unit(workload).peak(units.get(fingerprint, Resources()))
        machines: dict[tuple[str, str], int] = {}
        for (archetype, fingerprint, group), pods in _summed(self.cluster, more):
            each = self.plan.archetypes[archetype].pods_per_machine(self.plan.geometry.density)
            machines[fingerprint, group] = machines.get((fingerprint, group), 0) - (-pods // each)
        for (fingerprint, group), number in sorted(machines.items()):
            unit = "" if group else str(units[fingerprint])
            yield EventRow(0, "growth", self.cluster.ordinal, "", fingerprint, group, unit, number)

    def _unit(self, workload: Workload) -> Resources:
        """Return the piece of demand that cannot be split: one Pod, or a gang that folds into one machine."""
        kind = self.plan.archetypes[workload.archetype]
        request = kind.sizes[workload.size].request
        return request.times(workload.replicas) if kind.gang else request


def _summed(cluster: ClusterPlan, workloads: Iterable[Workload]) -> list[tuple[tuple[int, str, str], int]]:
    def key(workload: Workload) -> tuple[int, str, str]:
        profile, group = cluster.need(workload)
        return workload.archetype, profile.fingerprint, group

    return [(k, sum(w.replicas for w in own)) for k, own in groupby(sorted(workloads, key=key), key=key)]


def _machines_of(cluster: ClusterPlan) -> Iterator[tuple[str, ...]]:
    """Yield, for each workload, the machines of its pre-bound slots; those are always its first."""
    names = [seat.machine_id for seat in cluster.seats]
    for runs in cluster.runs:
        yield tuple(chain.from_iterable(repeat(names[run.position], run.count) for run in runs))


def _steps(plan: Plan, schedule: ClusterSchedule, kit: _Kit) -> Iterator[Turn]:
    """Yield every change of demand as the owners that it removes or brings back."""
    downs = {microseconds(down.at_seconds) for down in plan.profile.load_profile.scale_downs}
    workloads = schedule.cluster.workloads
    levels = [(0, [w.replicas for w in workloads]), *((s.start_us, schedule.live(s.multiplier)) for s in plan.segments)]
    for (_, before), (at_us, after) in pairwise(levels):
        come = tuple(n for n, (old, new) in enumerate(zip(before, after, strict=True)) if new > old)
        go = tuple(n for n, (old, new) in enumerate(zip(before, after, strict=True)) if new < old)
        if come or go:
            kind = EventKind.SCALE_DOWN if at_us in downs else EventKind.DEMAND_STEP
            growth = tuple(kit.growth(workloads, [workloads[n] for n in come]))
            yield Turn(at_us, kind, come, go, growth)


def _standing(plan: Plan, cluster: ClusterPlan) -> Iterator[Workload]:
    """Yield the demand above the plan's; its workloads are drawn freely, whatever there is room for."""
    extra = cluster.slots * (exact(plan.profile.load_profile.open_loop_demand_multiplier) - 1)
    left = extra.__floor__()
    draws = WorkloadDraws(plan.inputs.random_seed, f"{cluster.name}/standing", plan.archetypes)
    for workload in draws.free():
        if left <= 0:
            return
        yield replace(workload.truncated(min(left, workload.replicas)), name=f"standing-{workload.name}")
        left -= workload.replicas
