"""A cluster being drawn: workloads by quota or freely, bound to seeded machines as they come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from scaletest.catalog import Archetype, Workload, WorkloadDraws
from scaletest.catalog.sizing import apportion
from scaletest.model.instants import exact
from scaletest.plan.filling import Filling, Run
from scaletest.plan.geometry import cluster_name
from scaletest.plan.inventory import Inventory

__all__ = ["Draft", "Placement", "drawn_freely", "drawn_to_quota", "stranded"]


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one archetype's demand in a cluster."""

    wanted: int
    """Pods by the archetype's share of the demand."""
    pods: int
    """Pods in the end: what could not be pre-bound moved to archetypes with room."""
    bound: int
    """Pods that are pre-bound."""


@dataclass
class Draft:
    """The workloads of one cluster so far, and what is still free on its machines."""

    inventory: Inventory
    ordinal: int
    max_pods: int
    workloads: list[Workload] = field(default_factory=list)
    runs: list[list[Run]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kinds: tuple[Archetype, ...] = self.inventory.sizing.archetypes
        self.pods = self.inventory.geometry.pods_of(self.ordinal)
        self.quota = self.inventory.sizing.quota(self.pods)
        self.draws = WorkloadDraws(self.inventory.random_seed, cluster_name(self.ordinal), self.kinds)
        self.filling = Filling(self.kinds, tuple(self.inventory.configured_seats(self.ordinal)), self.max_pods)
        self._streams: dict[tuple[int, int], Iterator[Workload]] = {}
        self._spread_counts: dict[int, dict[str, int]] = {}

    def order(self) -> list[int]:
        """Return the archetypes as they are placed: gangs first, they need room in one place; then by priority."""
        return sorted(
            range(len(self.kinds)), key=lambda a: (self.kinds[a].gang is None, -max(self.kinds[a].priorities), a)
        )

    def placements(self) -> Iterator[Placement]:
        """Yield what became of each archetype's demand."""
        pods, bound = [0] * len(self.kinds), [0] * len(self.kinds)
        for workload, runs in zip(self.workloads, self.runs, strict=True):
            pods[workload.archetype] += workload.replicas
            bound[workload.archetype] += sum(run.count for run in runs)
        for archetype, wanted in enumerate(self.quota):
            yield Placement(wanted, pods[archetype], bound[archetype])

    def take(self, archetype: int, size: int, pods: int) -> Iterator[Workload]:
        """Yield the next workloads of one kind and size until so many Pods; the last one is truncated."""
        stream = self._streams.setdefault((archetype, size), self.draws.of_size(archetype, size))
        while pods > 0:
            workload = next(stream)
            workload = workload.truncated(min(workload.replicas, pods))
            pods -= workload.replicas
            yield workload

    def take_all_sizes(self, archetype: int, pods: int) -> list[Workload]:
        """Return the next workloads of one kind, large Pods first: small ones fill the gaps that large ones leave."""
        sizes = self.kinds[archetype].sizes
        parts = apportion(pods, [Fraction(size.weight) for size in sizes])
        by_size = sorted(range(len(sizes)), key=lambda s: (-max(a for _, a in sizes[s].request), s))
        return [workload for size in by_size for workload in self.take(archetype, size, parts[size])]

    def bind(self, archetype: int, workloads: Sequence[Workload], *, balanced: bool = True) -> list[list[Run]]:
        """Bind plain workloads of one kind; a hard spread is kept unless told otherwise."""
        if self.kinds[archetype].spread is None or not balanced:
            return self.filling.place_anywhere(workloads)
        counts = self._spread_counts.setdefault(
            archetype, dict.fromkeys(sorted(self.filling.spread_domains(archetype)), 0)
        )
        return self.filling.place_spread(workloads, counts)

    def accept(self, workload: Workload, runs: list[Run]) -> None:
        """Take a workload into the plan."""
        self.workloads.append(workload)
        self.runs.append(runs)


def drawn_to_quota(draft: Draft) -> Draft:
    """Give every archetype its share of the Pods, and pre-bind the profile's fraction of them.

    When all Pods are to be pre-bound, demand is limited to what the seeded machines can take: what finds no place
    moves, in proportion, to archetypes that have room. What then still finds none stays pending.
    """
    fraction = exact(draft.inventory.seed.pre_bind_fraction)
    if fraction < 1:
        for archetype in draft.order():
            for workload in draft.take_all_sizes(archetype, draft.quota[archetype]):
                draft.accept(workload, [])
        return _bound(draft, budget=draft.pods * fraction.numerator // fraction.denominator, balanced=True)
    parts, full = draft.quota, [False] * len(draft.kinds)
    while any(parts):
        for archetype in draft.order():
            if parts[archetype] and _fill(draft, archetype, parts[archetype]) < parts[archetype]:
                full[archetype] = True
        missing = draft.pods - sum(w.replicas for w in draft.workloads)
        shares = draft.inventory.sizing.pod_shares
        parts = apportion(missing, [Fraction(0) if full[a] else share for a, share in enumerate(shares)])
    for archetype, pods in enumerate(apportion(missing, draft.inventory.sizing.pod_shares)):
        for workload in draft.take_all_sizes(archetype, pods):
            draft.accept(workload, [])
    return draft


def drawn_freely(draft: Draft) -> Draft:
    """Draw workloads of any kind until the target and bind what fits, as the field does."""
    left = draft.pods
    for workload in draft.draws.free():
        drawn = workload.truncated(min(left, workload.replicas))
        draft.accept(drawn, [])
        left -= drawn.replicas
        if not left:
            break
    fraction = exact(draft.inventory.seed.pre_bind_fraction)
    return _bound(draft, budget=draft.pods * fraction.numerator // fraction.denominator, balanced=False)


def _bound(draft: Draft, *, budget: int, balanced: bool) -> Draft:
    """Bind drawn workloads in placing order until the budget of Pods is used up; gangs go whole or not at all."""
    for archetype in draft.order():
        chosen = [i for i, w in enumerate(draft.workloads) if w.archetype == archetype]
        if draft.kinds[archetype].gang:
            for i in chosen:
                if draft.workloads[i].replicas <= budget:
                    draft.runs[i] = draft.filling.place_gang(draft.workloads[i], tightest=balanced)
                    budget -= sum(run.count for run in draft.runs[i])
            continue
        offered = []
        for i in chosen:
            offered.append(draft.workloads[i].truncated(min(budget, draft.workloads[i].replicas)))
            budget -= offered[-1].replicas
        for i, runs in zip(chosen, draft.bind(archetype, offered, balanced=balanced), strict=True):
            draft.runs[i] = runs
    return draft


def _fill(draft: Draft, archetype: int, pods: int) -> int:
    """Draw and bind up to so many Pods of one kind; return how many found a place. Only those are accepted."""
    if draft.kinds[archetype].gang:
        return _fill_gangs(draft, archetype, pods)
    drawn = draft.take_all_sizes(archetype, pods)
    placed = 0
    for workload, runs in zip(drawn, draft.bind(archetype, drawn), strict=True):
        bound = sum(run.count for run in runs)
        if bound:
            draft.accept(workload.truncated(bound), runs)
        placed += bound
    return placed


def _fill_gangs(draft: Draft, archetype: int, pods: int) -> int:
    """Like _fill, gang by gang; a gang that no rack or zone takes any more is cut to the largest that fits."""
    gang = draft.kinds[archetype].gang
    assert gang is not None, archetype
    placed = 0
    for workload in draft.take_all_sizes(archetype, pods):
        runs = draft.filling.place_gang(workload, tightest=True)
        if not runs:
            room = draft.filling.largest_gang(workload)
            if room < min(gang.smallest, workload.replicas):
                continue
            workload = workload.truncated(min(room, workload.replicas))  # noqa: PLW2901
            runs = draft.filling.place_gang(workload, tightest=True)
        draft.accept(workload, runs)
        placed += workload.replicas
    return placed


def stranded(draft: Draft) -> tuple[int, ...]:
    """Return, by archetype, the bound Pods that could not be scheduled again if they alone were removed.

    Resources and affinity never strand a Pod: the room it leaves is on a machine it may use, and a gang's other
    members keep their rack. A hard spread can: it may demand a zone that is full.
    """
    return tuple(
        _stranded_by_spread(draft, archetype) if kind.spread else 0 for archetype, kind in enumerate(draft.kinds)
    )


def _stranded_by_spread(draft: Draft, archetype: int) -> int:
    spread = draft.kinds[archetype].spread
    assert spread is not None, archetype
    counts, movable = draft.filling.spread_census(archetype, zip(draft.workloads, draft.runs, strict=True))
    total = 0
    for (value, size), pods in sorted(movable.items()):
        after = {**counts, value: counts[value] - 1}
        open_values = [v for v in sorted(after) if after[v] + 1 - min(after.values()) <= spread.max_skew]
        if value not in open_values and not any(draft.filling.has_room(archetype, size, v) for v in open_values):
            total += pods
    return total
