"""Long random runs of the whole engine: whatever the provider does to calls and answers, no machine is ever lost."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from loop.engine_cluster import MS, SECOND, template
from loop.engine_ground import Ground, Notes
from loop.engine_provider import Fault, S, machine

from scaletest.engine.decide import Demand, Engine, Fleet, Memory, Settings
from scaletest.engine.reference import EngineSettings
from scaletest.model import CapacityType, Machine, Need, Stream
from scaletest.model.demand import RACK_KEY
from scaletest.ports.cluster import Owner
from scaletest.ports.provider import ProviderError

TROUBLE_US = 300 * SECOND
QUIET_US = TROUBLE_US + 720 * SECOND
"""Longer than the longest drain may take."""


def fault_of(dice: Stream, ordinal: int) -> Fault:
    """Return how a call goes: mostly slow and in any order, sometimes lost, late, refused, failed, staged or twice."""
    kind = dice.below(12, 10 * ordinal)
    return Fault(
        before_us=dice.below(3 * SECOND, 10 * ordinal + 1),
        work_us=dice.below(8 * SECOND, 10 * ordinal + 2) if kind != 1 else 45 * SECOND,
        answer_us=dice.below(2 * SECOND, 10 * ordinal + 3) if kind != 2 else 40 * SECOND,
        request_lost=kind == 3,
        answer_lost=kind == 4,
        refused=kind == 5,
        fails=kind == 6,
        staged=kind in {7, 8},
        twice=kind in {8, 9},
    )


def fleet_of_machines() -> list[Machine]:
    machines = [machine(f"idle-{n:02d}", rack=f"r{n % 3}") for n in range(10)]
    machines += [machine(f"spec-{n:02d}", S.SPECULATIVE, rack=f"r{n % 3}") for n in range(10)]
    machines += [machine(f"conf-{n:02d}", S.CONFIGURED, rack=f"r{n % 3}", cluster=f"c{n % 2}") for n in range(8)]
    return [replace(m, capacity_type=CapacityType.SPOT) if m.id.endswith(("1", "4")) else m for m in machines]


class Trouble:
    """What happens to one run, drawn by its seed."""

    def __init__(self, seed: int) -> None:
        self.dice = Stream.of(seed, "trouble")
        self.lost: list[str] = []
        owners = {
            f"c{n}": (Owner(1, "web", 14, template()), Owner(2, "gang", 5, template(cpu=2_500, same=RACK_KEY)))
            for n in range(2)
        }
        settings = EngineSettings(concurrency=3, decide=Settings(reclaim_cap_ppm=0))
        self.ground = Ground(fleet_of_machines(), clusters=("c0", "c1"), owners=owners, settings=settings)
        provider = self.ground.provider
        provider.list_us, provider.list_answer_us = 300 * MS, 700 * MS
        provider.fault = lambda _call, _machine, ordinal: fault_of(self.dice, ordinal)
        provider.list_fault = lambda n: ProviderError() if self.dice.below(12, 7_000_000 + n) == 0 else None
        for wire in self.ground.wires.values():
            wire.every_us = 3 * SECOND

    async def play(self) -> None:
        ground = self.ground
        engine = ground.new_engine()
        await engine.start()
        engine.demand_ready()
        step = 0
        while ground.clock.now_us() < TROUBLE_US:
            step += 1
            await ground.until(ground.clock.now_us() + self.dice.below(4 * SECOND, 8_000_000 + step))
            self._something(step)
        provider = ground.provider
        provider.fault = lambda _call, _machine, _ordinal: Fault()
        provider.list_fault = lambda _ordinal: None
        for wire in ground.wires.values():
            wire.every_us = 30 * SECOND
        await ground.until(QUIET_US)

    def _something(self, step: int) -> None:
        """Lose a machine, bring one back, change demand, or disturb a watch."""
        what, which = self.dice.below(7, 9_000_000 + 2 * step), self.dice.below(1 << 20, 9_000_001 + 2 * step)
        provider, cluster = self.ground.provider, self.ground.clusters[f"c{which % 2}"]
        names = sorted(provider.machines)
        if what == 0 and len(names) > 18:
            self.lost.append(names[which % len(names)])
            provider.remove(self.lost[-1])
        elif what == 1 and self.lost:
            provider.set(machine(self.lost.pop(0), rack=f"r{which % 3}"))
        elif what in {2, 3}:
            cluster.resize(1, 4 + which % 30)
        elif what == 4:
            cluster.breaks, cluster.replays = 1, which % 5
            cluster.poke()
        elif what == 5:
            cluster.expire()


def known(ground: Ground) -> dict[str, tuple[str, str]]:
    inventory = ground.engine._shard._inventory
    names = {**inventory._fleet.machines, **inventory._changed}
    found = {name: inventory.get(name) for name in names}
    return {name: (m.state.value, m.cluster) for name, m in found.items() if m is not None}


def counted(ground: Ground) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (name, labels), value in ground.samples().items():
        if name == "bigfleet_shard_inventory_machines" and value:
            state = dict(labels)["state"]
            totals[state] = totals.get(state, 0) + int(value)
    return totals


def replayed_alike(notes: Notes, settings: EngineSettings) -> bool:
    fleet, memory = Fleet(), Memory()
    engine = Engine(fleet, rules=settings.rules, settings=settings.decide)
    rows: dict[str, tuple[Need, ...]] = {}
    heard: frozenset[str] = frozenset()
    for inputs in notes.inputs:
        fleet.apply(inputs.changed, removed=inputs.removed, now_us=inputs.at_us)
        rows |= dict(inputs.rollups)
        heard |= set(inputs.heard)
        demand = Demand(tuple(need for name in sorted(rows) for need in rows[name]), heard)
        decisions = engine.decide(demand, memory, now_us=inputs.at_us)
        memory = decisions.memory
        if decisions.actions != inputs.actions:
            return False
    return True


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=max(20, settings().max_examples // 4))  # every example is a run of many cycles
def test_every_machine_is_known_once_and_as_the_provider_has_it(seed: int) -> None:
    trouble = Trouble(seed)
    ground = trouble.ground

    ground.run(trouble.play())

    notes, provider = ground.notes, ground.provider
    assert known(ground) == {m.id: (m.state.value, m.cluster) for m in provider.machines.values()}
    states = [m.state.value for m in provider.machines.values()]
    assert counted(ground) == {state: states.count(state) for state in set(states)}
    assert ground.engine._shard._inventory.busy == 0
    for kind in {fact.action.kind for fact in notes.actions}:
        seqs = [fact.seq for fact in notes.actions if fact.action.kind is kind]
        assert seqs == list(range(1, len(seqs) + 1))
        assert sorted(seq for name, seq, _, _ in notes.outcomes if name == kind.value) == seqs
    assert replayed_alike(notes, ground.settings)
