"""A synchronous closed loop: Pods make demand, the engine moves machines, evicted Pods come back and bind again.

Deterministic and in lockstep, so it damps what the asynchronous world does not; it pins numbers, not stability.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loop.scenario import Pool, Scenario

from scaletest.engine.decide import Action, Decisions, Demand, Engine, Fleet, Kind, Memory, Settings, rules_without
from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Need,
    Resources,
    Stream,
    group_name,
)
from scaletest.model.attribution import attribution_for
from scaletest.model.demand import RACK_KEY
from scaletest.model.lifecycle import advance

S = MachineState
ZONES = ("zone-a", "zone-b", "zone-c")
CYCLE_US = 3_300_000


@dataclass(eq=False)
class Pod:
    pool: Pool
    cluster: str
    group: str
    machine: str | None = None


@dataclass
class Record:
    """What one cycle did."""

    actions: Counter[str]
    short: int
    configured: int
    bound: int
    pending: int
    evicted: int
    matches_short: int
    needs: int
    folded: int


@dataclass
class ClosedLoop:
    scenario: Scenario
    machines: dict[str, Machine] = field(default_factory=dict)
    free: dict[str, Resources] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    anchors: dict[str, str] = field(default_factory=dict)
    due: dict[int, list[tuple[str, MachineState]]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    acquired: set[str] = field(default_factory=set)
    destroyed: int = 0
    cycle: int = 0
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.clusters = [f"cluster-{n}" for n in range(self.scenario.clusters)]
        for pool in self.scenario.pools:
            self._seed(pool)
            for cluster in self.clusters:
                self._create_pods(pool, cluster, pool.pods)
        self.bind()
        if self.scenario.attributed:
            self._attribute()
        self.fleet = Fleet(self.machines.values())
        settings = Settings(reclaim_cap_ppm=0, holds_us=self.scenario.holds_us)
        self.engine = Engine(self.fleet, rules=rules_without(self.scenario.without), settings=settings)
        self.profiles = {pool.profile.fingerprint: pool.profile for pool in self.scenario.pools}
        self.profiles |= {p.without_same.fingerprint: p.without_same for p in tuple(self.profiles.values())}

    # --- seeding

    def _seed(self, pool: Pool) -> None:
        slot = 0
        tiers = [(S.CONFIGURED, cluster, pool.configured) for cluster in self.clusters]
        for state, cluster, count in (*tiers, (S.IDLE, "", pool.idle), (S.SPECULATIVE, "", pool.spec)):
            for _ in range(count):
                self._add(pool, state, cluster, slot // pool.block)
                slot += 1

    def _add(self, pool: Pool, state: MachineState, cluster: str, slot: int) -> None:
        zone = ZONES[slot % len(ZONES)]
        rented = state is S.SPECULATIVE or (state is S.IDLE and pool.idle_rented)
        name = f"{pool.name}-{state.value.lower()}-{cluster}-{len(self.machines):05d}"
        self.machines[name] = Machine(
            id=name,
            state=state,
            instance_type=pool.instance_type,
            zone=zone,
            capacity_type=CapacityType.ON_DEMAND if rented else CapacityType.BARE_METAL,
            allocatable=pool.machine,
            labels=((RACK_KEY, f"{zone}-rack-{slot % pool.racks}"),),
            price_uusd_per_hour=1_000_000 if state is S.SPECULATIVE else 0,
            interruption_ppm=50_000 if state is S.SPECULATIVE else 0,
            cluster=cluster,
        )
        self.free[name] = pool.machine

    def _create_pods(self, pool: Pool, cluster: str, count: int) -> None:
        self.pods += [Pod(pool, cluster, "") for _ in range(count)]
        for index, size in enumerate(pool.gangs):
            group = group_name(cluster, f"{pool.name}-{index}")
            self.pods += [Pod(pool, cluster, group) for _ in range(size)]

    def _attribute(self) -> None:
        """Stamp machines with the gang that is bound there, and the others with nothing."""
        for pod in self.pods:
            if pod.machine is not None and pod.group:
                machine = self.machines[pod.machine]
                self.machines[pod.machine] = replace(machine, attribution=attribution_for(pod.pool.profile, pod.group))

    # --- Pods

    def bind(self) -> None:
        order = {pool.name: index for index, pool in enumerate(self.scenario.pools)}
        pending = [pod for pod in self.pods if pod.machine is None]
        pending.sort(key=lambda pod: (not pod.group, not pod.pool.constrained, order[pod.pool.name]))
        self.anchors = {
            pod.group: self.machines[pod.machine].label(pod.pool.same or "") or ""
            for pod in self.pods
            if pod.group and pod.machine is not None
        }
        offered: dict[str, list[Machine]] = {cluster: [] for cluster in self.clusters}
        for machine in self.machines.values() if pending else ():
            if machine.state is S.CONFIGURED:
                offered[machine.cluster].append(machine)
        for pod in pending:
            self._bind_one(pod, offered[pod.cluster])

    def _bind_one(self, pod: Pod, machines: list[Machine]) -> None:
        anchor = self.anchors.get(pod.group) if pod.group else None
        best: tuple[int, str] | None = None
        for machine in machines:
            name = machine.id
            if pod.pool.constrained and machine.instance_type != pod.pool.instance_type:
                continue
            if anchor is not None and machine.label(pod.pool.same or "") != anchor:
                continue
            slots = self.free[name].how_many(pod.pool.pod) or 0
            if slots and (best is None or (-slots, name) < best):
                best = (-slots, name)
        if best is None:
            return
        pod.machine = best[1]
        self.free[best[1]] = self.free[best[1]].minus(pod.pool.pod)
        if pod.group:
            self.anchors.setdefault(pod.group, self.machines[best[1]].label(pod.pool.same or "") or "")

    def evict(self) -> int:
        evicted = 0
        kept: list[Pod] = []
        for pod in self.pods:
            machine = self.machines.get(pod.machine) if pod.machine else None
            gone = pod.machine is not None and (
                machine is None or machine.state is not S.CONFIGURED or machine.cluster != pod.cluster
            )
            if not gone:
                kept.append(pod)
                continue
            evicted += 1
            if self.scenario.controllers:
                kept.append(Pod(pod.pool, pod.cluster, pod.group))
            else:
                self.destroyed += 1
        self.pods = kept
        return evicted

    def resize(self, pool_name: str, target: int) -> None:
        for cluster in self.clusters:
            mine = [pod for pod in self.pods if pod.pool.name == pool_name and pod.cluster == cluster]
            # Pending Pods go first, then the newest of the bound ones.
            order = [p for p in mine if p.machine is None] + [p for p in reversed(mine) if p.machine is not None]
            going = order[: max(0, len(mine) - target)]
            for pod in going:
                if pod.machine is not None:
                    self.free[pod.machine] = self.free[pod.machine] + pod.pool.pod
            self.pods = [pod for pod in self.pods if pod not in going]
            if mine and len(mine) < target:
                self._create_pods(mine[0].pool, cluster, target - len(mine))

    def demand(self) -> Demand:
        rows: dict[tuple[str, str, str], Need] = {}
        for pod in self.pods:
            if self.scenario.requests == "pending" and pod.machine is not None:
                continue
            key = (pod.cluster, pod.pool.profile.fingerprint, pod.group)
            need = rows.get(key)
            rows[key] = Need(
                cluster=pod.cluster,
                profile=pod.pool.profile,
                aggregate=pod.pool.pod if need is None else need.aggregate + pod.pool.pod,
                min_unit=pod.pool.pod if need is None else need.min_unit.peak(pod.pool.pod),
                group=pod.group,
            )
        needs = list(rows.values())
        if self.scenario.shuffled:
            dice = Stream.of(self.cycle, "row order")
            needs = [needs.pop(dice.below(len(needs), n)) for n in range(len(needs))]
        return Demand(tuple(needs), frozenset(self.clusters))

    # --- machines

    def _move(
        self, name: str, state: MachineState, *, cluster: str = "", attribution: Attribution | None = None
    ) -> None:
        moved = advance(self.machines[name], state, cluster=cluster, attribution=attribution)
        self.machines[name] = moved
        if state is not S.CONFIGURED:
            self.free[name] = moved.allocatable

    def _then(self, dwell: int, name: str, state: MachineState) -> None:
        if dwell == 0:
            self._move(name, state)
        else:
            self.due.setdefault(self.cycle + dwell + 1, []).append((name, state))

    def carry_out(self, actions: tuple[Action, ...]) -> None:
        for action in actions:
            name, need = action.machine, action.need
            if action.kind is Kind.PROVISION:
                self._move(name, S.CREATING, attribution=Attribution(need.fingerprint, need.group))
                self._then(self.scenario.create, name, S.IDLE)
            if action.kind in {Kind.BOOTSTRAP, Kind.PROVISION} and self.machines[name].state is S.IDLE:
                stamp = attribution_for(self.profiles[need.fingerprint], need.group)
                self._move(name, S.CONFIGURING, cluster=need.cluster, attribution=stamp)
                self._then(self.scenario.configure, name, S.CONFIGURED)
                self.acquired.add(name)
            elif action.kind in {Kind.RECLAIM, Kind.PREEMPT}:
                self._move(name, S.DRAINING)
                self._move(name, S.IDLE)
            elif action.kind is Kind.DELETE:
                self._move(name, S.DELETING)
                self._move(name, S.SPECULATIVE)

    def lose(self, count: int) -> None:
        """Lose the hosts of the lowest-named Configured machines that run Pods; their Pods come back."""
        running = sorted({pod.machine for pod in self.pods if pod.machine is not None})
        for name in running[:count]:
            del self.machines[name]
            del self.free[name]

    # --- the loop

    def run(self) -> "ClosedLoop":
        for _ in range(self.scenario.cycles):
            self.step()
        return self

    def step(self) -> None:
        self.cycle += 1
        for name, state in self.due.pop(self.cycle, ()):
            if name in self.machines:
                self._move(name, state)
        for pool_name, target in self.scenario.resize.get(self.cycle, {}).items():
            self.resize(pool_name, target)
        self._lose_hosts()
        demand = self.demand()
        decisions = self.decide(demand)
        self.carry_out(decisions.actions)
        evicted = self.evict()
        self.bind()
        self.records.append(self._record(demand, decisions, evicted))

    def decide(self, demand: Demand) -> Decisions:
        changed = [machine for name, machine in self.machines.items() if self.fleet.machines.get(name) is not machine]
        gone = [name for name in self.fleet.machines if name not in self.machines]
        self.fleet.apply(changed, removed=gone, now_us=self.cycle * CYCLE_US)
        decisions = self.engine.decide(demand, self.memory, now_us=self.cycle * CYCLE_US)
        self.memory = decisions.memory
        return decisions

    def _lose_hosts(self) -> None:
        count = self.scenario.losses.get(self.cycle, 0)
        if self.scenario.lose_every is not None:
            first, every = self.scenario.lose_every
            count += self.cycle >= first and (self.cycle - first) % every == 0
        if count:
            self.lose(count)
            self.evict()
            self.bind()

    def _record(self, demand: Demand, decisions: Decisions, evicted: int) -> Record:
        short = [outcome for outcome in decisions.outcomes if outcome.deficit]
        wanted = {(o.row.need.cluster, o.row.need.profile.fingerprint, o.row.need.group) for o in short}
        reclaims = [action for action in decisions.actions if action.kind is Kind.RECLAIM]
        return Record(
            actions=Counter(action.kind.value for action in decisions.actions),
            short=len(short),
            configured=sum(machine.state is S.CONFIGURED for machine in self.machines.values()),
            bound=sum(pod.machine is not None for pod in self.pods),
            pending=sum(pod.machine is None for pod in self.pods),
            evicted=evicted,
            matches_short=sum(tuple(action.need) in wanted for action in reclaims),
            needs=len(demand.rows),
            folded=decisions.folded_rows,
        )

    def total(self, *kinds: str, last: int | None = None) -> int:
        records = self.records if last is None else self.records[-last:]
        return sum(record.actions[kind] for record in records for kind in kinds)

    def tail(self) -> Iterator[Record]:
        return iter(self.records[-self.scenario.window :])
