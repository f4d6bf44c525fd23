"""What else happens during the soak, resolved: bursts with the clusters that take part, steps, losses, actions."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count, takewhile

from scaletest.catalog import Archetype, Workload, WorkloadDraws
from scaletest.model import Stream, microseconds, seconds_text
from scaletest.plan.geometry import Geometry, cluster_name
from scaletest.profile.load import Burst
from scaletest.profile.profile import Profile

__all__ = ["Event", "EventKind", "PlannedBurst", "bursts_of", "events_of"]


class EventKind(StrEnum):
    """What kind of thing happens."""

    BURST = "burst"
    BURST_END = "burst-end"
    SCALE_DOWN = "scale-down"
    DEMAND_STEP = "demand-step"
    LOSS = "loss"
    STOCK_OUT = "stock-out"
    EMPTY_ROLLUP = "empty-rollup"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at a planned instant after soak start."""

    at_us: int
    kind: EventKind
    what: str
    machines: int = 0
    """Machines that vanish, for a loss."""


@dataclass(frozen=True, slots=True)
class PlannedBurst:
    """A burst and the clusters that take part in it."""

    number: int
    archetype: int
    at_us: int
    until_us: int
    extra_target: int
    clusters: tuple[int, ...]

    def workloads(self, cluster: int, *, seed: int, archetypes: tuple[Archetype, ...]) -> Iterator[Workload]:
        """Yield what appears in one cluster; gangs are never cut short, so a gang burst may exceed its target."""
        kind = archetypes[self.archetype]
        draws = WorkloadDraws(seed, f"{cluster_name(cluster)}/burst-{self.number}", archetypes)
        left = self.extra_target
        sizes = Stream.of(seed, "burst-size", self.number, cluster)
        streams = [draws.of_size(self.archetype, size) for size in range(len(kind.sizes))]
        for n in count():
            if left <= 0:
                return
            workload = next(streams[sizes.weighted([s.weight for s in kind.sizes], n)])
            yield workload if kind.gang else workload.truncated(min(left, workload.replicas))
            left -= workload.replicas


def bursts_of(
    bursts: tuple[Burst, ...], archetypes: tuple[Archetype, ...], *, geometry: Geometry, seed: int
) -> tuple[PlannedBurst, ...]:
    """Resolve bursts; whether a cluster takes part is drawn for each on its own. Unknown archetypes are left out."""
    names = [a.name for a in archetypes]
    return tuple(
        PlannedBurst(
            number=number,
            archetype=names.index(burst.archetype),
            at_us=microseconds(burst.at_seconds),
            until_us=microseconds(burst.at_seconds) + microseconds(burst.duration_seconds),
            extra_target=burst.extra_target,
            clusters=_participants(number, burst.selectivity, geometry.clusters, seed),
        )
        for number, burst in enumerate(bursts)
        if burst.archetype in names
    )


def _participants(number: int, selectivity: float, clusters: int, seed: int) -> tuple[int, ...]:
    draws = Stream.of(seed, "burst-participation", number)
    return tuple(cluster for cluster in range(clusters) if draws.chance(selectivity, cluster))


def events_of(profile: Profile, bursts: tuple[PlannedBurst, ...]) -> tuple[Event, ...]:
    """Return everything that happens at a planned instant, in order."""
    return tuple(
        sorted(
            (*_load_events(profile, bursts), *_provider_events(profile), *_engine_events(profile)),
            key=lambda event: (event.at_us, event.kind, event.what),
        )
    )


def _load_events(profile: Profile, bursts: tuple[PlannedBurst, ...]) -> Iterator[Event]:
    for burst in bursts:
        name = profile.load_profile.bursts[burst.number].archetype
        where = f"{len(burst.clusters)} clusters" if len(burst.clusters) != 1 else cluster_name(burst.clusters[0])
        yield Event(burst.at_us, EventKind.BURST, f"{burst.extra_target:,} {name} Pods more in {where}")
        yield Event(burst.until_us, EventKind.BURST_END, f"the {name} burst ends")
    for down in profile.load_profile.scale_downs:
        text = f"demand and the elastic tier fall to {down.target_multiplier:.0%}"
        yield Event(microseconds(down.at_seconds), EventKind.SCALE_DOWN, text)
    for step in profile.load_profile.demand_steps:
        text = f"demand goes to {step.target_multiplier:.0%}"
        yield Event(microseconds(step.at_seconds), EventKind.DEMAND_STEP, text)


def _provider_events(profile: Profile) -> Iterator[Event]:
    soak_us = profile.soak_us
    for loss in profile.provider.losses:
        first = microseconds(loss.at_seconds)
        every = microseconds(loss.every_seconds) if loss.every_seconds else soak_us
        back = f", back after {seconds_text(microseconds(loss.repair_seconds))} s" if loss.repair_seconds else ""
        for at_us in takewhile(lambda at: at < soak_us, count(first, every)):
            yield Event(at_us, EventKind.LOSS, f"{loss.count} Configured machines vanish{back}", machines=loss.count)
    for out in profile.provider.stock_outs:
        what = ", ".join((*out.instance_types, *out.zones)) or "every instance type"
        text = f"no {what} for {seconds_text(microseconds(out.duration_seconds))} s"
        yield Event(microseconds(out.at_seconds), EventKind.STOCK_OUT, text)


def _engine_events(profile: Profile) -> Iterator[Event]:
    for empty in profile.world.empty_rollups:
        text = f"{cluster_name(empty.cluster)} sends an empty roll-up"
        yield Event(microseconds(empty.at_seconds), EventKind.EMPTY_ROLLUP, text)
    for action in profile.runner_actions:
        yield Event(microseconds(action.at_seconds), EventKind.ACTION, action.action)
