"""One pass over all clusters: what the whole plan adds up to. Clusters are derived one at a time and let go again."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from scaletest.plan.arrivals import Cause, ClusterSchedule
from scaletest.plan.drafting import Placement

__all__ = ["Totals", "totals_of"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all clusters."""

    placements: tuple[Placement, ...]
    """By archetype."""
    stranded: tuple[int, ...]
    """Pods, by archetype, that could not be scheduled again if they alone were removed."""
    occupied: int
    """Configured machines that hold a pre-bound Pod."""
    workloads: int
    gangs: int
    demand_rows: int
    replacements: dict[Cause, int]
    """Planned replacements of the soak, by cause."""
    linger_replacements: int
    """Replacements that only keep the load going after the soak; they are not samples."""
    busiest_us: int
    """Length of the window below."""
    busiest: int
    """Most replacements planned in any window of that length."""
    digest: str
    """Hash of all clusters."""

    @property
    def pods(self) -> int:
        """Return the Pods of all clusters."""
        return sum(placement.pods for placement in self.placements)

    @property
    def bound(self) -> int:
        """Return the pre-bound Pods of all clusters."""
        return sum(placement.bound for placement in self.placements)

    @property
    def planned_replacements(self) -> int:
        """Return the exact length of the soak's schedule."""
        return sum(self.replacements.values())


def totals_of(schedules: Iterable[ClusterSchedule], *, soak_us: int, end_us: int, window_us: int) -> Totals:
    """Add up all clusters; `window_us` is the stretch in which the busiest time is looked for."""
    placements: list[Placement] = []
    stranded: list[int] = []
    occupied = workloads = gangs = rows = linger = 0
    causes: Counter[Cause] = Counter()
    seconds: Counter[int] = Counter()
    digest = sha256()
    for schedule in schedules:
        cluster = schedule.cluster
        placements = _added(placements, cluster.placements)
        stranded = [a + b for a, b in zip(stranded or [0] * len(cluster.stranded), cluster.stranded, strict=True)]
        occupied += cluster.occupied
        workloads += len(cluster.workloads)
        gangs += cluster.gangs
        rows += cluster.demand_rows
        in_soak = schedule.counts(until_us=soak_us)
        causes.update(in_soak)
        linger += schedule.counts(until_us=end_us).total() - in_soak.total()
        if window_us:
            seconds.update(schedule.per_second(until_us=soak_us))
        digest.update(cluster.digest())
    return Totals(
        placements=tuple(placements),
        stranded=tuple(stranded),
        occupied=occupied,
        workloads=workloads,
        gangs=gangs,
        demand_rows=rows,
        replacements={cause: causes[cause] for cause in Cause},
        linger_replacements=linger,
        busiest_us=window_us,
        busiest=_busiest(seconds, window_us),
        digest=digest.hexdigest(),
    )


def _added(sums: list[Placement], more: Iterable[Placement]) -> list[Placement]:
    if not sums:
        return list(more)
    return [Placement(a.wanted + b.wanted, a.pods + b.pods, a.bound + b.bound) for a, b in zip(sums, more, strict=True)]


def _busiest(seconds: Counter[int], window_us: int) -> int:
    """Return the most arrivals in any run of whole seconds that covers the window wherever it starts."""
    length = -(-window_us // 1_000_000) + 1
    running = best = 0
    for second in range(max(seconds, default=0) + 1):
        running += seconds[second] - seconds[second - length]
        best = max(best, running)
    return best
