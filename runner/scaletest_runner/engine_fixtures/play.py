"""Playing a case: decide, carry out, move on. Transitions take the cycles that the case says, and never fail."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scaletest.engine.decide import (
    Action,
    Decisions,
    Demand,
    Engine,
    Fleet,
    Kind,
    Memory,
    Rules,
    Settings,
    rules_without,
)
from scaletest.model import Attribution, Machine, MachineState, Need, NeedProfile
from scaletest.model.attribution import attribution_for
from scaletest.model.lifecycle import advance
from scaletest_runner.engine_fixtures.values import Case, Dwell, Step, Variant

__all__ = ["CYCLE_US", "Decider", "Played", "attribution_for", "engine_decider", "play"]

CYCLE_US: Final = 3_300_000
"""One cycle of a fixture's clock."""

_S = MachineState

Decider = Callable[[Mapping[str, Machine], Mapping[str, int], Demand, Memory, int], Decisions]
"""Any implementation: machines, since when the Idle ones are Idle, demand, memory and now, to decisions."""


@dataclass(frozen=True, slots=True)
class Played:
    """One cycle of a case."""

    number: int
    step: Step
    last_of_step: bool
    needs: Mapping[str, Need]
    decisions: Decisions
    configured: int
    totals: Counter[str]


def engine_decider(rules: Rules, settings: Settings) -> Decider:
    """Return the engine as a decider; its index follows the machines change by change."""
    fleet = Fleet()
    engine = Engine(fleet, rules=rules, settings=settings)

    def decide(
        machines: Mapping[str, Machine], idle_since_us: Mapping[str, int], demand: Demand, memory: Memory, now_us: int
    ) -> Decisions:
        changed = [machine for name, machine in machines.items() if fleet.machines.get(name) != machine]
        fleet.apply(changed, removed=[name for name in fleet.machines if name not in machines], now_us=now_us)
        fleet.idle_since_us.update(idle_since_us)
        return engine.decide(demand, memory, now_us=now_us)

    return decide


def play(
    case: Case, variant: Variant, *, decider: Callable[[Rules, Settings], Decider] = engine_decider
) -> Iterator[Played]:
    """Play one variant of a case and yield every cycle after its actions were started."""
    world = _World(case)
    decide = decider(rules_without(variant.without), case.settings)
    memory = Memory()
    for step in variant.steps:
        world.prepare(step)
        totals: Counter[str] = Counter()
        for turn in range(step.repeat):
            world.mature()
            demand = Demand(tuple(world.needs.values()), frozenset(world.heard))
            decisions = decide(world.machines, world.idle_since_us, demand, memory, world.now_us)
            memory = decisions.memory
            totals.update(action.kind.value for action in decisions.actions)
            world.carry_out(decisions.actions)
            configured = sum(machine.state is _S.CONFIGURED for machine in world.machines.values())
            last = turn == step.repeat - 1
            yield Played(world.cycle, step, last, dict(world.needs), decisions, configured, totals)


@dataclass(slots=True)
class _World:
    """Machines, demand, and transitions under way."""

    case: Case
    machines: dict[str, Machine] = field(init=False)
    needs: dict[str, Need] = field(init=False)
    heard: tuple[str, ...] = field(init=False)
    idle_since_us: dict[str, int] = field(init=False)
    due: dict[int, list[tuple[str, MachineState]]] = field(default_factory=dict)
    cycle: int = 0

    def __post_init__(self) -> None:
        self.machines = {machine.id: machine for machine in self.case.machines}
        self.needs = dict(self.case.needs)
        self.heard = self.case.heard
        self.idle_since_us = {name: 0 for name, machine in self.machines.items() if machine.state is _S.IDLE}

    @property
    def now_us(self) -> int:
        return self.cycle * CYCLE_US

    @property
    def dwell(self) -> Dwell:
        return self.case.dwell

    def prepare(self, step: Step) -> None:
        for name in step.remove:
            self.machines.pop(name, None)
            self.idle_since_us.pop(name, None)
        for machine in step.add:
            self._put(machine)
        for name, need in step.needs.items():
            if need is None:
                self.needs.pop(name, None)
            else:
                self.needs[name] = need
        if step.heard is not None:
            self.heard = step.heard

    def mature(self) -> None:
        """Begin a cycle: what is due arrives."""
        self.cycle += 1
        for name, state in self.due.pop(self.cycle, ()):
            if name in self.machines:
                self._move(name, state)

    def carry_out(self, actions: tuple[Action, ...]) -> None:
        profiles = {need.profile.fingerprint: need.profile for need in self.needs.values()}
        profiles |= {p.without_same.fingerprint: p.without_same for p in profiles.values()}
        for action in actions:
            if action.kind is Kind.BOOTSTRAP:
                self._configure(action, profiles)
            elif action.kind is Kind.PROVISION:
                mark = Attribution(action.need.fingerprint, action.need.group)
                self._move(action.machine, _S.CREATING, mark=mark)
                self._then(self.dwell.create, action.machine, _S.IDLE)
                # A provider that answers at once lets the same action go on; one that answers later does not.
                if self.machines[action.machine].state is _S.IDLE:
                    self._configure(action, profiles)
            elif action.kind is Kind.DELETE:
                # In a build without the shield one machine can be bootstrapped and deleted in one cycle.
                if self.machines[action.machine].state is _S.IDLE:
                    self._move(action.machine, _S.DELETING)
                    self._then(self.dwell.delete, action.machine, _S.SPECULATIVE)
            else:
                self._move(action.machine, _S.DRAINING)
                self._then(self.dwell.drain, action.machine, _S.IDLE)

    def _configure(self, action: Action, profiles: Mapping[str, NeedProfile]) -> None:
        mark = attribution_for(profiles[action.need.fingerprint], action.need.group)
        self._move(action.machine, _S.CONFIGURING, cluster=action.need.cluster, mark=mark)
        self._then(self.dwell.configure, action.machine, _S.CONFIGURED)

    def _then(self, cycles: int, name: str, state: MachineState) -> None:
        if cycles == 0:
            self._move(name, state)
        else:
            self.due.setdefault(self.cycle + cycles + 1, []).append((name, state))

    def _move(self, name: str, state: MachineState, *, cluster: str = "", mark: Attribution | None = None) -> None:
        self._put(advance(self.machines[name], state, cluster=cluster, attribution=mark))

    def _put(self, machine: Machine) -> None:
        before = self.machines.get(machine.id)
        if machine.state is not _S.IDLE:
            self.idle_since_us.pop(machine.id, None)
        elif before is None or before.state is not _S.IDLE:
            self.idle_since_us[machine.id] = self.now_us
        self.machines[machine.id] = machine
