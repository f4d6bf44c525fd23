"""Demand realism (ADR-0043): before a mechanism is built for a demand, ask whether a real fleet would send it.

The checks compare a catalog with physics, not with what an engine can do. A year of engine machinery was once built
against one archetype that no rack could hold; a catalog that repeats this is refused with the reason.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Final

from scaletest.catalog.archetypes import Archetype
from scaletest.model import Resources
from scaletest.model.demand import RACK_KEY
from scaletest.model.findings import Finding, Severity
from scaletest.model.resources import COMMON_RESOURCES

__all__ = ["HOSTS_PER_RACK", "HOSTS_PER_ZONE", "burst_finding", "realism_findings"]

HOSTS_PER_RACK: Final = 50
"""A 48-52 unit cabinet full of one-unit hosts; 8-GPU hosts of eight units and 10 kW come to four or six."""

HOSTS_PER_ZONE: Final = 2_500
"""The largest published single-network accelerator clusters: 20,000 GPUs, eight to a host."""


def realism_findings(
    archetypes: tuple[Archetype, ...], instance_types: Mapping[str, Resources], *, density: int
) -> Iterator[Finding]:
    """Yield what no real fleet could hold or would ask for."""
    for archetype in archetypes:
        yield from _oversized_gang(archetype, density)
        yield from _machine_below_pod(archetype, density)
        yield from _missing_devices(archetype, instance_types)


def burst_finding(archetype: Archetype, *, extra_target: int, clusters: int) -> Finding | None:
    """Return a refusal when a burst meant as one gang is multiplied by the clusters that take part in it."""
    gang = archetype.gang
    if gang is None or clusters <= 1 or extra_target > gang.largest:
        return None
    return Finding(
        Severity.REFUSE,
        "demand-realism",
        archetype.name,
        f"the burst asks for one gang of {gang.smallest} to {gang.largest} Pods, but {clusters} clusters take part, so "
        f"it becomes {clusters} gangs ({gang.smallest * clusters:,} to {gang.largest * clusters:,} Pods); "
        "lower selectivity until one cluster takes part, or ask for the larger number in extraTarget",
    )


def _oversized_gang(archetype: Archetype, density: int) -> Iterator[Finding]:
    if archetype.gang is None:
        return
    hosts = ceil(archetype.gang.largest / archetype.pods_per_machine(density))
    rack = archetype.gang.topology_key == RACK_KEY
    limit = HOSTS_PER_RACK if rack else HOSTS_PER_ZONE
    if hosts <= limit:
        return
    place, why = (
        ("rack", "a cabinet has room for about 50 one-unit hosts")
        if rack
        else ("zone", "the largest published accelerator clusters join about 2,500 eight-GPU hosts")
    )
    yield Finding(
        Severity.REFUSE,
        "demand-realism",
        archetype.name,
        f"a gang of up to {archetype.gang.largest} Pods needs {hosts} machines in one {place}, and no real {place} "
        f"holds more than {limit:,} ({why}); real fleets place gangs of this size "
        + ("at zone scope: use sameZone, or shrink groupSizeRange" if rack else "across zones: shrink groupSizeRange"),
    )


def _machine_below_pod(archetype: Archetype, density: int) -> Iterator[Finding]:
    for machine_size in range(len(archetype.sizes)):
        offered = archetype.allocatable(size=machine_size, density=density)
        for pod_size, size in enumerate(archetype.sizes):
            if not offered.covers(size.request):
                short = ", ".join(name for name, amount in size.request if offered[name] < amount)
                yield Finding(
                    Severity.REFUSE,
                    "demand-realism",
                    archetype.name,
                    f"a machine built for size {machine_size} cannot hold a Pod of size {pod_size} (too little {short})"
                    "; raise podsPerNode or make the sizes alike",
                )


def _missing_devices(archetype: Archetype, instance_types: Mapping[str, Resources]) -> Iterator[Finding]:
    wanted = Resources()
    for size in archetype.sizes:
        wanted = wanted.peak(size.request)
    for name, amount in wanted:
        known = [instance_types[t][name] for t in archetype.instance_types if t in instance_types]
        if name in COMMON_RESOURCES or len(known) < len(archetype.instance_types):
            continue
        if max(known) < amount:
            yield Finding(
                Severity.REFUSE,
                "demand-realism",
                archetype.name,
                f"a Pod asks for {amount} {name}, the best of {', '.join(archetype.instance_types)} has {max(known)}; "
                "name an instance type that has it, or take it out of the request",
            )
        elif min(known) < amount:
            lacking = ", ".join(t for t in archetype.instance_types if instance_types[t][name] < amount)
            yield Finding(
                Severity.WARN,
                "demand-realism",
                archetype.name,
                f"a Pod asks for {amount} {name}, which {lacking} does not have in reality",
            )
