"""A cluster being filled: which Pods of which workload go on which seeded machine.

Pods of one workload are alike, so they are placed in runs (workload, machine, count); there is no object per Pod.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scaletest.catalog import Archetype, Workload
from scaletest.model.demand import RACK_KEY
from scaletest.plan.inventory import Seat

__all__ = ["Filling", "Room", "Run"]


@dataclass(slots=True)
class Room:
    """What is left on one machine; `free` follows the filling's resource names."""

    position: int
    seat: Seat
    free: list[int]
    pods: int

    def fits(self, request: Sequence[int]) -> int:
        """Return how many Pods of this request still fit."""
        count = self.pods
        for have, want in zip(self.free, request, strict=True):
            if want and have < count * want:
                count = have // want
        return count

    def take(self, request: Sequence[int], count: int) -> None:
        """Put so many Pods on the machine."""
        self.pods -= count
        for i, want in enumerate(request):
            self.free[i] -= want * count
        assert min(self.free, default=0) >= 0, self.seat


@dataclass(frozen=True, slots=True)
class Run:
    """`count` Pods of one workload on the machine at one position of the cluster."""

    position: int
    count: int


@dataclass(slots=True)
class _Queue:
    """Rooms in the order they are to be filled by one request; full ones are left behind for good."""

    rooms: list[Room]
    request: tuple[int, ...]
    at: int = 0

    def place(self, count: int) -> list[Run]:
        """Place up to so many Pods; what does not fit is simply not in the answer."""
        runs = []
        while count and self.at < len(self.rooms):
            room = self.rooms[self.at]
            take = min(count, room.fits(self.request))
            if take:
                room.take(self.request, take)
                runs.append(Run(room.position, take))
                count -= take
            if count:
                self.at += 1
        return runs


@dataclass
class Filling:
    """The machines of one cluster and what is still free on them."""

    archetypes: tuple[Archetype, ...]
    seats: tuple[Seat, ...]
    max_pods: int
    rooms: list[Room] = field(init=False)

    def __post_init__(self) -> None:
        self._names = sorted({n for a in self.archetypes for size in a.sizes for n in size.request.names()})
        self._requests = [
            [tuple(size.request[name] for name in self._names) for size in a.sizes] for a in self.archetypes
        ]
        self.rooms = [
            Room(position, seat, [seat.allocatable[name] for name in self._names], self.max_pods)
            for position, seat in enumerate(self.seats)
        ]
        self._own: list[list[Room]] = [[] for _ in self.archetypes]
        for room in self.rooms:
            self._own[room.seat.archetype].append(room)

    def request(self, workload: Workload) -> tuple[int, ...]:
        """Return one Pod's request, by resource name of this filling."""
        return self._requests[workload.archetype][workload.size]

    def largest_gang(self, workload: Workload) -> int:
        """Return the largest gang of this kind that some rack or zone still takes."""
        return max((sum(r.fits(self.request(workload)) for r in rooms) for rooms in self._domains(workload)), default=0)

    def place_gang(self, workload: Workload, *, tightest: bool) -> list[Run]:
        """Place a gang whole, in one rack or zone, or not at all.

        The tightest domain that holds it is taken, so that larger gangs still find room; without `tightest` the
        first by name, as the field's loop does. A gang that fits one machine stays on one machine.
        """
        request, wanted = self.request(workload), workload.replicas
        choices = []
        for order, rooms in enumerate(self._domains(workload)):
            fits = [room.fits(request) for room in rooms]
            if sum(fits) >= wanted:
                choices.append((sum(fits) if tightest else 0, order, rooms, fits))
        if not choices:
            return []
        _, _, rooms, fits = min(choices, key=lambda choice: choice[:2])
        whole = next((room for room, fit in zip(rooms, fits, strict=True) if fit >= wanted), None)
        return _Queue([whole] if whole else rooms, request).place(wanted)

    def place_anywhere(self, workloads: Sequence[Workload]) -> list[list[Run]]:
        """Place plain workloads in the engine's keep order: what they do not need stays empty at the tail."""
        queues = self._queues(workloads, self._own[workloads[0].archetype]) if workloads else {}
        return [queues[w.size, w.axes].place(w.replicas) for w in workloads]

    def spread_domains(self, archetype: int) -> dict[str, list[Room]]:
        """Return the machines a hard-spread archetype is placed on, by zone or rack.

        The scheduler knows instance types, not archetypes: a zone in which only other archetypes have acceptable
        machines is a domain of the spread too, and leaving it empty would block the whole archetype. Only there are
        machines of others used, those of unspread archetypes first.
        """
        kind = self.archetypes[archetype]
        assert kind.spread is not None, kind.name
        own: dict[str, list[Room]] = {}
        foreign: dict[str, list[Room]] = {}
        for room in sorted(self.rooms, key=lambda r: self.archetypes[r.seat.archetype].spread is not None):
            if room.seat.instance_type in kind.instance_types and room.seat.zone in kind.zones:
                side = own if room.seat.archetype == archetype else foreign
                side.setdefault(_domain(room.seat, kind.spread.topology_key), []).append(room)
        return foreign | own

    def spread_census(
        self, archetype: int, placed: Iterable[tuple[Workload, Sequence[Run]]]
    ) -> tuple[dict[str, int], dict[tuple[str, int], int]]:
        """Return a hard-spread archetype's Pods by domain, and those that carry the constraint by domain and size."""
        spread = self.archetypes[archetype].spread
        assert spread is not None, archetype
        counts = dict.fromkeys(self.spread_domains(archetype), 0)
        movable: dict[tuple[str, int], int] = {}
        for workload, runs in placed:
            if workload.archetype != archetype:
                continue
            for run in runs:
                value = _domain(self.seats[run.position], spread.topology_key)
                counts[value] = counts.get(value, 0) + run.count
                if workload.spread:
                    movable[value, workload.size] = movable.get((value, workload.size), 0) + run.count
        return counts, movable

    def has_room(self, archetype: int, size: int, value: str) -> bool:
        """Say whether one more Pod of a hard-spread archetype fits somewhere in a domain, on anybody's machine."""
        kind = self.archetypes[archetype]
        assert kind.spread is not None, kind.name
        key, request = kind.spread.topology_key, self._requests[archetype][size]
        return any(
            _domain(room.seat, key) == value and room.seat.instance_type in kind.instance_types and room.fits(request)
            for room in self.rooms
        )

    def place_spread(self, workloads: Sequence[Workload], counts: dict[str, int]) -> list[list[Run]]:
        """Place hard-spread workloads Pod by Pod into the emptiest domain.

        `counts` holds the archetype's Pods per domain and is updated.
        """
        if not workloads:
            return []
        domains = self.spread_domains(workloads[0].archetype)
        queues = {value: self._queues(workloads, rooms, share=len(domains)) for value, rooms in domains.items()}
        spread = self.archetypes[workloads[0].archetype].spread
        assert spread is not None, workloads[0]
        return [_place_balanced(w, queues, max_skew=spread.max_skew, counts=counts) for w in workloads]

    def _queues(
        self, workloads: Sequence[Workload], rooms: Sequence[Room], *, share: int = 1
    ) -> dict[tuple[int, tuple[int, ...]], _Queue]:
        """Return one queue per size and label values: machines the engine would keep, own size first, then the rest."""
        kept = self._kept(workloads, rooms, share)
        own = workloads[0].archetype
        queues = {}
        for key in sorted({(w.size, w.axes) for w in workloads}):
            size, axes = key
            ordered = sorted(
                (room for room in rooms if self._carries(room, own, axes)),
                key=lambda room: (room.position not in kept, room.seat.size != size or room.seat.archetype != own),
            )
            queues[key] = _Queue(ordered, self._requests[own][size])
        return queues

    def _carries(self, room: Room, archetype: int, axes: tuple[int, ...]) -> bool:
        """Say whether a machine has the label values that a Pod pins itself to; machines of others may lack the key."""
        labels = zip(self.archetypes[room.seat.archetype].axes, room.seat.axes, strict=True)
        carried = {axis.key: axis.value(number) for axis, number in labels}
        wanted = zip(self.archetypes[archetype].axes, axes, strict=True)
        return all(carried.get(axis.key) == axis.value(number) for axis, number in wanted)

    def _kept(self, workloads: Sequence[Workload], rooms: Sequence[Room], share: int) -> frozenset[int]:
        """Return the machines that cover the demand when taken in keep order; the engine will claim just these."""
        wanted = [0] * len(self._names)
        for workload in workloads:
            for i, amount in enumerate(self.request(workload)):
                wanted[i] += amount * workload.replicas
        kept = []
        for room in rooms:
            if not any(amount > 0 for amount in wanted):
                break
            kept.append(room.position)
            for i, free in enumerate(room.free):
                wanted[i] -= free * share
        return frozenset(kept)

    def _domains(self, workload: Workload) -> Iterable[list[Room]]:
        gang = self.archetypes[workload.archetype].gang
        assert gang is not None, workload
        domains: dict[str, list[Room]] = {}
        for room in self._own[workload.archetype]:
            if room.seat.axes == workload.axes:
                domains.setdefault(_domain(room.seat, gang.topology_key), []).append(room)
        return [domains[value] for value in sorted(domains)]


def _domain(seat: Seat, topology_key: str) -> str:
    return seat.rack if topology_key == RACK_KEY else seat.zone


def _place_balanced(
    workload: Workload,
    queues: dict[str, dict[tuple[int, tuple[int, ...]], _Queue]],
    *,
    max_skew: int,
    counts: dict[str, int],
) -> list[Run]:
    """Place one workload Pod by Pod; stop at the first Pod that the emptiest domains cannot take."""
    placed: dict[int, int] = {}
    for _ in range(workload.replicas):
        level = min(counts.values(), default=0)  # no domain: no machine of the cluster is acceptable
        for value in sorted(counts, key=lambda v: (counts[v], v)):
            runs = queues[value][workload.size, workload.axes].place(1) if counts[value] < level + max_skew else []
            if runs:
                break
        else:
            break
        counts[value] += 1
        placed[runs[0].position] = placed.get(runs[0].position, 0) + 1
    return [Run(position, count) for position, count in placed.items()]
