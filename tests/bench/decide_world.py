"""A fleet that lives: demand that flickers, machines that are lost, and actions that take cycles to complete.

Per cluster two plain rows, memcache gangs that fit on one machine (or, in the other form, take three to five), and GPU
gangs of three to eight machines that share a rack or a zone. Every draw is keyed, so the bench is the same every time.

Churn is above the field's: dev-50 replaces 2.4 % of its Pods a minute with a gap of 0.7 s, so a roll-up finds 0.03 % of
the Pods, and 0.15 % of the gangs, one Pod short; here it is up to 0.5 % and 0.2 %. A cycle loses at least one host and
one in 12,000, some two hundred times what fleets lose. `harsh` is three times all that.
"""

import gc
import pickle
import time
from collections import deque
from dataclasses import dataclass, replace

from scaletest.engine.decide import Decisions, Demand, Engine, Fleet, Kind, Memory
from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Need,
    NeedProfile,
    Operator,
    PenaltyBucket,
    Requirement,
    Resources,
    Stream,
    group_name,
)
from scaletest.model.attribution import attribution_for
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY
from scaletest.model.lifecycle import advance

S = MachineState
GIB = 1 << 30
TYPES = {
    "m6i.large": Resources.of({"cpu": 2_000, "memory": 8 * GIB}),
    "m6i.xlarge": Resources.of({"cpu": 20_000, "memory": 80 * GIB}),
    "r6i.4xlarge": Resources.of({"cpu": 20_000, "memory": 160 * GIB}),
    "a3-highgpu-8g": Resources.of({"cpu": 208_000, "memory": 1_872 * GIB, "nvidia.com/gpu": 8}),
}
UNITS = {
    "tiny": Resources.of({"cpu": 200, "memory": GIB // 4}),
    "service": Resources.of({"cpu": 2_000, "memory": 8 * GIB}),
    "memcache": Resources.of({"cpu": 2_000, "memory": 16 * GIB}),
    "memcache-wide": Resources.of({"cpu": 20_000, "memory": 160 * GIB}),
    "gpu": Resources.of({"cpu": 200_000, "memory": 1_800 * GIB, "nvidia.com/gpu": 8}),
}
ZONES = ("zone-a", "zone-b", "zone-c")


def _profile(kind: str, *, same: str | None, priority: int, ordinals: tuple[int, int]) -> NeedProfile:
    requirements = [
        Requirement(INSTANCE_TYPE_KEY, Operator.IN, (kind,))
        if kind
        else Requirement(INSTANCE_TYPE_KEY, Operator.EXISTS)
    ]
    if same:
        requirements.append(Requirement(same, Operator.SAME))
    return NeedProfile.of(
        requirements=tuple(requirements),
        priority=priority,
        interruption=PenaltyBucket(ordinals[0]),
        reclamation=PenaltyBucket(ordinals[1]),
    )


TINY = _profile("", same=None, priority=100, ordinals=(8, 9))
SERVICE = _profile("m6i.xlarge", same=None, priority=1_000, ordinals=(13, 16))
MEMCACHE = _profile("r6i.4xlarge", same=RACK_KEY, priority=3_000, ordinals=(14, 17))
GPU_RACK = _profile("a3-highgpu-8g", same=RACK_KEY, priority=5_000, ordinals=(16, 19))
GPU_ZONE = _profile("a3-highgpu-8g", same=ZONE_KEY, priority=5_000, ordinals=(17, 20))


@dataclass(frozen=True)
class Shape:
    clusters: int
    tiny_machines: int
    service_machines: int
    memcache_gangs: int
    gpu_gangs: int
    machines: int
    racks_per_zone: int = 20
    foldable: bool = True
    harsh: bool = False


@dataclass(frozen=True)
class Gang:
    profile: NeedProfile
    unit: Resources
    size: int
    group: str


class World:
    """The fleet, its demand and the work in flight."""

    def __init__(self, shape: Shape, *, seed: int) -> None:
        self.shape = shape
        self._dice = Stream.of(seed, "bench")
        self._ordinal = 0
        self._serial = 0
        self._cycle = 0
        self.machines: dict[str, Machine] = {}
        self.clusters = [f"kwok-cluster-{n}" for n in range(shape.clusters)]
        self.gangs = {cluster: self._gangs(cluster) for cluster in self.clusters}
        self.rows = {cluster: self._rows(cluster, flicker=0) for cluster in self.clusters}
        for cluster in self.clusters:
            self._seed(cluster)
        self._spare(shape.machines - len(self.machines))
        self.configured = [m.id for m in self.machines.values() if m.state is S.CONFIGURED]
        self.fleet = Fleet(self.machines.values())
        self.engine = Engine(self.fleet)
        self.memory = Memory()
        self.changed: dict[str, Machine] = {}
        self.removed: list[str] = []
        self.flight: dict[int, deque[tuple[str, MachineState]]] = {}

    def _below(self, bound: int) -> int:
        self._ordinal += 1
        return self._dice.below(bound, self._ordinal)

    # --- what there is

    def _gangs(self, cluster: str) -> list[Gang]:
        gangs = []
        for n in range(self.shape.memcache_gangs):
            unit, low = (UNITS["memcache"], 3) if self.shape.foldable else (UNITS["memcache-wide"], 3)
            size = low + self._below(6 if self.shape.foldable else 3)
            gangs.append(Gang(MEMCACHE, unit, size, group_name(cluster, f"memcache-{n}")))
        for n in range(self.shape.gpu_gangs):
            profile = GPU_RACK if n % 2 else GPU_ZONE
            gangs.append(Gang(profile, UNITS["gpu"], 3 + self._below(6), group_name(cluster, f"gpu-{n}")))
        return gangs

    def _rows(self, cluster: str, *, flicker: int) -> tuple[Need, ...]:
        """Return a cluster's roll-up; now and then a Pod is between its deletion and its replacement."""

        def sampled(size: int) -> int:
            return size - 1 if flicker and self._below(1_000) < flicker else size

        tiny, service = self.shape.tiny_machines * 10, self.shape.service_machines * 10
        if flicker:
            tiny, service = tiny - self._below(tiny // 200), service - self._below(service // 200)
        rows = [
            Need(cluster, TINY, UNITS["tiny"].times(tiny), UNITS["tiny"]),
            Need(cluster, SERVICE, UNITS["service"].times(service), UNITS["service"]),
        ]
        rows += [Need(cluster, g.profile, g.unit.times(sampled(g.size)), g.unit, g.group) for g in self.gangs[cluster]]
        return tuple(rows)

    def _seed(self, cluster: str) -> None:
        for _ in range(self.shape.tiny_machines):
            self._add("m6i.large", S.CONFIGURED, self._rack(), cluster=cluster, profile=TINY)
        for _ in range(self.shape.service_machines):
            self._add("m6i.xlarge", S.CONFIGURED, self._rack(), cluster=cluster, profile=SERVICE)
        pods = sum(g.size for g in self.gangs[cluster] if g.profile is MEMCACHE)
        for _ in range(-(-pods // 10) + 4 if self.shape.foldable else 0):
            self._add("r6i.4xlarge", S.CONFIGURED, self._rack(), cluster=cluster, profile=MEMCACHE.without_same)
        for gang in self.gangs[cluster]:
            if gang.profile is MEMCACHE and self.shape.foldable:
                continue
            kind = "r6i.4xlarge" if gang.profile is MEMCACHE else "a3-highgpu-8g"
            zone, rack = self._rack()
            for _ in range(gang.size):
                place = (zone, self._rack_of(zone)) if gang.profile is GPU_ZONE else (zone, rack)
                self._add(kind, S.CONFIGURED, place, cluster=cluster, profile=gang.profile, group=gang.group)

    def _spare(self, count: int) -> None:
        assert count > 0, "the seeded machines alone are more than the bench wants"
        kinds = tuple(TYPES)
        for n in range(count):
            state = S.IDLE if n % 9 < 4 else S.SPECULATIVE
            self._add(kinds[n % len(kinds)], state, self._rack())

    def _rack_of(self, zone: str) -> str:
        return f"{zone}-rack-{self._below(self.shape.racks_per_zone)}"

    def _rack(self) -> tuple[str, str]:
        zone = ZONES[self._below(len(ZONES))]
        return zone, self._rack_of(zone)

    def _add(
        self,
        kind: str,
        state: MachineState,
        place: tuple[str, str],
        *,
        cluster: str = "",
        profile: NeedProfile | None = None,
        group: str = "",
    ) -> Machine:
        self._serial += 1
        speculative = state is S.SPECULATIVE
        machine = Machine(
            # Ids do not follow the order of creation, as a provider's do not.
            id=f"m-{self._below(1 << 30):08x}-{self._serial}",
            state=state,
            instance_type=kind,
            zone=place[0],
            capacity_type=CapacityType.ON_DEMAND if speculative else CapacityType.BARE_METAL,
            allocatable=TYPES[kind],
            labels=(("scaletest.bigfleet/archetype", kind), (RACK_KEY, place[1])),
            price_uusd_per_hour=1_000_000 if speculative else 0,
            interruption_ppm=50_000 if speculative else 0,
            cluster=cluster,
            attribution=attribution_for(profile, group) if profile else None,
        )
        self.machines[machine.id] = machine
        return machine

    # --- what happens

    def churn(self) -> None:
        """Let a third of the clusters roll up, lose some hosts, and complete what is due."""
        self._cycle += 1
        for index, cluster in enumerate(self.clusters):
            if index % 3 == self._cycle % 3:
                self.rows[cluster] = self._rows(cluster, flicker=6 if self.shape.harsh else 2)
        for _ in range(max(1, len(self.configured) // (4_000 if self.shape.harsh else 12_000))):
            self._lose(self.configured[self._below(len(self.configured))])
        for machine_id, state in self.flight.pop(self._cycle, ()):
            if machine_id in self.machines:
                self._move(machine_id, state)

    def _lose(self, machine_id: str) -> None:
        machine = self.machines.get(machine_id)
        if machine is None or machine.state is not S.CONFIGURED:
            return
        del self.machines[machine_id]
        self.changed.pop(machine_id, None)
        self.removed.append(machine_id)
        place = (machine.zone, machine.label(RACK_KEY) or "")
        fresh = self._add(machine.instance_type, S.SPECULATIVE, place)
        self.changed[fresh.id] = fresh

    def _move(
        self, machine_id: str, state: MachineState, *, cluster: str = "", mark: Attribution | None = None
    ) -> None:
        moved = advance(self.machines[machine_id], state, cluster=cluster, attribution=mark)
        self.machines[machine_id] = self.changed[machine_id] = moved
        if state is S.CONFIGURED:
            self.configured.append(machine_id)
        if state is S.DELETING:
            self._later(1, machine_id, S.SPECULATIVE)
        if state is S.DRAINING:
            self._later(1, machine_id, S.IDLE)

    def _later(self, cycles: int, machine_id: str, state: MachineState) -> None:
        self.flight.setdefault(self._cycle + cycles, deque()).append((machine_id, state))

    def act(self, decisions: Decisions) -> None:
        """Start what was decided; configuring takes one to four cycles, creating one or two."""
        profiles = {o.row.need.profile.fingerprint: o.row.need.profile for o in decisions.outcomes if o.acquired}
        for action in decisions.actions:
            if action.kind is Kind.BOOTSTRAP:
                mark = attribution_for(profiles[action.need.fingerprint], action.need.group)
                self._move(action.machine, S.CONFIGURING, cluster=action.need.cluster, mark=mark)
                self._later(1 + self._below(4), action.machine, S.CONFIGURED)
            elif action.kind is Kind.PROVISION:
                mark = Attribution(action.need.fingerprint, action.need.group)
                self._move(action.machine, S.CREATING, mark=mark)
                self._later(1 + self._below(2), action.machine, S.IDLE)
            elif action.kind is Kind.DELETE:
                self._move(action.machine, S.DELETING)
            else:
                self._move(action.machine, S.DRAINING)

    # --- the cycle

    def demand(self) -> Demand:
        return Demand(tuple([row for rows in self.rows.values() for row in rows]), frozenset(self.clusters))

    def take_in_changes(self) -> None:
        self.fleet.apply(self.changed.values(), removed=self.removed, now_us=self._cycle * 3_300_000)
        self.changed, self.removed = {}, []

    def decide(self) -> Decisions:
        decisions = self.engine.decide(self.demand(), self.memory, now_us=self._cycle * 3_300_000)
        self.memory = decisions.memory
        return decisions

    def cycle(self) -> Decisions:
        self.take_in_changes()
        decisions = self.decide()
        self.act(decisions)
        return decisions

    def expected_folded_rows(self) -> int:
        """Return how many rows must come from folding: one per cluster and gang size, if the gangs fit at all."""
        fits = TYPES["r6i.4xlarge"].covers
        memcache = [n for rows in self.rows.values() for n in rows if n.profile is MEMCACHE and fits(n.aggregate)]
        return len({(need.cluster, need.aggregate) for need in memcache})

    def cold_ms(self, tries: int) -> tuple[float, float]:
        """Return the quickest start from nothing (index and first cycle), and the first cycle's part of it.

        An engine that starts has just been told of its machines: records lie side by side, as after hours they do not.
        """
        machines, demand = pickle.loads(pickle.dumps((tuple(self.machines.values()), self.demand())))  # noqa: S301 - ours
        best = (float("inf"), 0.0)
        for _ in range(tries):
            gc.collect()
            gc.disable()
            start = time.process_time_ns()
            engine = Engine(Fleet(machines))
            middle = time.process_time_ns()
            engine.decide(demand)
            end = time.process_time_ns()
            gc.enable()
            best = min(best, ((end - start) / 1e6, (end - middle) / 1e6))
        return best


__all__ = ["Shape", "World", "replace"]
