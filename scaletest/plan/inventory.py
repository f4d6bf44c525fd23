"""The seeded inventory: machines per tier, matched to the catalog's distribution, each derivable from its position."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final

from scaletest.catalog import Archetype, Sizing
from scaletest.catalog.sizing import apportion
from scaletest.model import (
    MICRO_USD,
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Resources,
    Stream,
)
from scaletest.model.demand import RACK_KEY
from scaletest.model.instants import exact
from scaletest.plan.geometry import Geometry, cluster_name
from scaletest.profile.profile import Seed

__all__ = ["Inventory", "Seat", "Tier"]

_PPM: Final = 1_000_000


class Tier(StrEnum):
    """What a machine is at install time."""

    CONFIGURED = "configured"
    IDLE = "idle"
    SPECULATIVE = "speculative"
    SPOT = "spot"


@dataclass(frozen=True, slots=True)
class _Terms:
    """State, capacity type, hourly price and hourly chance of interruption of a tier's machines."""

    state: MachineState
    capacity_type: CapacityType
    price_uusd_per_hour: int = 0
    interruption_ppm: int = 0


# Prices are flat per tier, as in the original harness; they make the routing of cost-routing-5k flip at 2.8 dollars.
_TERMS: Final = {
    Tier.CONFIGURED: _Terms(MachineState.CONFIGURED, CapacityType.BARE_METAL),
    Tier.IDLE: _Terms(MachineState.IDLE, CapacityType.BARE_METAL),
    Tier.SPECULATIVE: _Terms(MachineState.SPECULATIVE, CapacityType.ON_DEMAND, MICRO_USD, _PPM * 5 // 100),
    Tier.SPOT: _Terms(MachineState.SPECULATIVE, CapacityType.SPOT, MICRO_USD * 3 // 10, _PPM * 30 // 100),
}


@dataclass(frozen=True, slots=True)
class Seat:
    """One seeded machine before anything is bound to it; `archetype` and `size` say what it was built for."""

    ordinal: int
    archetype: int
    size: int
    instance_type: str
    zone: str
    rack: str
    axes: tuple[int, ...]
    allocatable: Resources

    @property
    def machine_id(self) -> str:
        """Return the machine's id; ids sort in ordinal order, which is the engine's keep order inside a tier."""
        return f"m-{self.ordinal:08d}"


@dataclass(frozen=True)
class Inventory:
    """All machines of a plan. Ordinals run through Configured by cluster, then Idle, Speculative and Spot."""

    sizing: Sizing
    geometry: Geometry
    seed: Seed
    random_seed: int
    drawn_sizes: bool
    """Draw machine sizes at random, as the field does, instead of balancing them inside every zone."""

    @cached_property
    def effective_machines(self) -> int:
        """Return the machines that the demand really needs."""
        return self.sizing.effective_machines(self.geometry.pods)

    def configured(self, cluster: int) -> tuple[int, ...]:
        """Return one cluster's Configured machines by archetype; gang floors repeat in every cluster."""
        share = Fraction(self.geometry.pods_of(cluster), self.geometry.pods)
        wanted = self.effective_machines * exact(self.seed.configured_fraction) * share
        return self._allocate(wanted)

    @cached_property
    def _configured_full(self) -> tuple[int, ...]:
        return self.configured(0)

    @cached_property
    def idle(self) -> tuple[int, ...]:
        """Return the owned idle machines by archetype, all shards together."""
        return self._per_shard(self.effective_machines * exact(self.seed.idle_headroom_fraction) / self.geometry.shards)

    @cached_property
    def speculative(self) -> tuple[int, ...]:
        """Return the elastic OnDemand machines by archetype, all shards together."""
        if self.seed.speculative_count is not None:
            return self._per_shard(Fraction(self.seed.speculative_count))
        return self._per_shard(
            Fraction(self.effective_machines * self.seed.speculative_multiplier // self.geometry.shards)
        )

    @cached_property
    def spot(self) -> tuple[int, ...]:
        """Return the elastic Spot machines by archetype, all shards together."""
        return self._per_shard(Fraction(self.seed.spot_count))

    @cached_property
    def configured_total(self) -> tuple[int, ...]:
        """Return the Configured machines by archetype, all clusters together."""
        last = self.geometry.clusters - 1
        return tuple(
            full * last + rest for full, rest in zip(self._configured_full, self.configured(last), strict=True)
        )

    def counts(self, tier: Tier) -> tuple[int, ...]:
        """Return one tier's machines by archetype."""
        return {
            Tier.CONFIGURED: self.configured_total,
            Tier.IDLE: self.idle,
            Tier.SPECULATIVE: self.speculative,
            Tier.SPOT: self.spot,
        }[tier]

    @property
    def machines(self) -> int:
        """Return the machines of all tiers."""
        return sum(sum(self.counts(tier)) for tier in Tier)

    def configured_seats(self, cluster: int) -> Iterator[Seat]:
        """Yield one cluster's Configured machines in ordinal order."""
        first = cluster * sum(self._configured_full)
        return self._seats(Tier.CONFIGURED, self.configured(cluster), first=first, group=cluster)

    def shared_seats(self, tier: Tier) -> Iterator[Seat]:
        """Yield the machines of a tier that belongs to no cluster, in ordinal order."""
        before = {
            Tier.IDLE: sum(self.configured_total),
            Tier.SPECULATIVE: sum(self.configured_total) + sum(self.idle),
            Tier.SPOT: sum(self.configured_total) + sum(self.idle) + sum(self.speculative),
        }[tier]
        return self._seats(tier, self.counts(tier), first=before, group=0)

    def domain_sizes(self, archetype: int, tier: Tier, topology_key: str) -> dict[str, int]:
        """Return how many of an archetype's machines of one tier stand in every rack or zone.

        For Configured it is the first cluster's: a gang uses its own cluster's machines only.
        """
        count = self.configured(0)[archetype] if tier is Tier.CONFIGURED else self.counts(tier)[archetype]
        return self._layout(archetype, count, group=0).domain_sizes(by_rack=topology_key == RACK_KEY)

    def machine(self, seat: Seat, tier: Tier, *, cluster: int = -1, attribution: Attribution | None = None) -> Machine:
        """Return a seat as the provider will list it."""
        terms = _TERMS[tier]
        kind = self.sizing.archetypes[seat.archetype]
        axes = tuple((axis.key, axis.value(n)) for axis, n in zip(kind.axes, seat.axes, strict=True))
        return Machine(
            id=seat.machine_id,
            state=terms.state,
            instance_type=seat.instance_type,
            zone=seat.zone,
            capacity_type=terms.capacity_type,
            allocatable=seat.allocatable,
            labels=((RACK_KEY, seat.rack), *axes),
            price_uusd_per_hour=terms.price_uusd_per_hour,
            interruption_ppm=terms.interruption_ppm,
            cluster=cluster_name(cluster) if tier is Tier.CONFIGURED else "",
            attribution=attribution,
        )

    def shared_machines(self) -> Iterator[Machine]:
        """Yield every machine that belongs to no cluster."""
        return chain.from_iterable(
            (self.machine(seat, tier) for seat in self.shared_seats(tier))
            for tier in (Tier.IDLE, Tier.SPECULATIVE, Tier.SPOT)
        )

    def _allocate(self, wanted: Fraction) -> tuple[int, ...]:
        return self.sizing.allocate(wanted.numerator // wanted.denominator)

    def _per_shard(self, wanted: Fraction) -> tuple[int, ...]:
        return tuple(count * self.geometry.shards for count in self._allocate(wanted))

    def _layout(self, archetype: int, count: int, *, group: int) -> "_Layout":
        kind, seed = self.sizing.archetypes[archetype], self.seed
        in_racks = kind.gang if kind.gang and kind.gang.topology_key == RACK_KEY else None
        block = seed.rack_block or in_racks.largest if in_racks else 1
        return _Layout(kind, count, group, seed.racks_per_zone, block)

    def _seats(self, tier: Tier, counts: tuple[int, ...], *, first: int, group: int) -> Iterator[Seat]:
        ordinal = first
        for archetype, count in enumerate(counts):
            kind = self.sizing.archetypes[archetype]
            layout = self._layout(archetype, count, group=group)
            draws = Stream.of(self.random_seed, "machine", tier, group, kind.name)
            offers = [kind.allocatable(size=s, density=self.sizing.density) for s in range(len(kind.sizes))]
            sizes = self._drawn_sizes(kind, count, draws) if self.drawn_sizes else layout.dealt_sizes(offers)
            for i in range(count):
                zone, rack, instance_type = layout.place(i)
                axes = tuple(
                    draws.below(axis.count, count + i * len(kind.axes) + n) for n, axis in enumerate(kind.axes)
                )
                yield Seat(ordinal, archetype, sizes[i], instance_type, zone, rack, axes, offers[sizes[i]])
                ordinal += 1

    @staticmethod
    def _drawn_sizes(kind: Archetype, count: int, draws: Stream) -> list[int]:
        weights = [size.weight for size in kind.sizes]
        return [draws.weighted(weights, i) for i in range(count)]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the i-th machine of an archetype stands, and which size it is built for.

    Rack gangs get contiguous blocks, one rack each and as long as their largest gang unless the profile says otherwise;
    everything else goes round the zones. Instance types turn once per round of zones, so that every zone sees every
    type. `group` shifts zones and racks, so that clusters with few machines do not all leave out the same zone.
    """

    kind: Archetype
    count: int
    group: int
    racks_per_zone: int
    block: int

    def place(self, i: int) -> tuple[str, str, str]:
        """Return zone, rack and instance type."""
        zones, types = self.kind.zones, self.kind.instance_types
        turn, zone = divmod(self._step(i), len(zones))
        rack = f"{zones[zone]}-r{turn % self.racks_per_zone}"
        return zones[zone], rack, types[i // self.block // len(zones) % len(types)]

    def dealt_sizes(self, offers: list[Resources]) -> list[int]:
        """Return every machine's size: the catalog's mix exactly, dealt so that zones come out as even as they can.

        Random sizes would leave one zone short by chance, and a hard spread is limited by its poorest zone.
        """
        rows: dict[int, list[int]] = {}
        for i in range(self.count):
            rows.setdefault(self._step(i) % len(self.kind.zones), []).append(i)
        mix = apportion(self.count, [Fraction(size.weight) for size in self.kind.sizes])
        worth = [max(amount for _, amount in offer) for offer in offers]
        sizes = [0] * self.count
        for row, counts in zip(rows.values(), _dealt([len(row) for row in rows.values()], mix, worth), strict=True):
            for i, size in zip(row, _interleaved(counts), strict=True):
                sizes[i] = size
        return sizes

    def domain_sizes(self, *, by_rack: bool) -> dict[str, int]:
        """Return the machines per rack or zone; racks repeat, so one round of them stands for all."""
        sizes: dict[str, int] = {}
        round_length = len(self.kind.zones) * self.racks_per_zone * self.block
        for i in range(min(self.count, round_length)):
            zone, rack, _ = self.place(i)
            whole_rounds = -(-(self.count - i) // round_length)
            value = rack if by_rack else zone
            sizes[value] = sizes.get(value, 0) + whole_rounds
        return sizes

    def _step(self, i: int) -> int:
        return self.group * -(-self.count // self.block) + i // self.block


def _dealt(seats: list[int], mix: list[int], worth: list[int]) -> list[list[int]]:
    """Return how many of each size every zone gets: large machines go to whichever zone is poorest so far."""
    smallest = min(worth)
    hands = [[0] * len(mix) for _ in seats]
    poorest = [(free * smallest, zone) for zone, free in enumerate(seats)]
    heapify(poorest)
    for size in sorted(range(len(mix)), key=lambda s: (-worth[s], s)):
        for _ in range(mix[size]):
            wealth, zone = heappop(poorest)
            hands[zone][size] += 1
            if sum(hands[zone]) < seats[zone]:
                heappush(poorest, (wealth + worth[size] - smallest, zone))
    return hands


def _interleaved(counts: list[int]) -> Iterator[int]:
    """Yield each index as often as counted, such that every prefix is as fair a sample as it can be."""
    total = sum(counts)
    taken = [0] * len(counts)
    for position in range(1, total + 1):
        pick = max(range(len(counts)), key=lambda i: (counts[i] * position - taken[i] * total, -i))
        taken[pick] += 1
        yield pick
