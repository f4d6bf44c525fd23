"""A small ground for the engine: a loop on virtual time, clusters, a provider, and a recorder that keeps everything."""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loop.engine_cluster import MS, SECOND, FakeCluster
from loop.engine_provider import FakeProvider

from scaletest.engine.facts import ActionFact, CycleFact, CycleInputs
from scaletest.engine.reference import EngineSettings, ReferenceEngine
from scaletest.model import Machine, Need
from scaletest.ports.cluster import Owner
from scaletest.world.sim.loop import VirtualClock, VirtualLoop


@dataclass
class Notes:
    """A recorder that keeps everything."""

    actions: list[ActionFact] = field(default_factory=list)
    outcomes: list[tuple[str, int, str, int]] = field(default_factory=list)
    cycles: list[CycleFact] = field(default_factory=list)
    inputs: list[CycleInputs] = field(default_factory=list)

    def accepted(self, fact: ActionFact) -> None:
        self.actions.append(fact)

    def finished(self, kind: str, seq: int, outcome: str, evicted: int) -> None:
        self.outcomes.append((kind, seq, outcome, evicted))

    def cycle(self, fact: CycleFact, inputs: CycleInputs, compute_us: int) -> None:
        assert compute_us >= 0
        self.cycles.append(fact)
        self.inputs.append(inputs)

    def kinds(self) -> list[tuple[str, str]]:
        return [(fact.action.kind.value, fact.action.machine) for fact in self.actions]


@dataclass
class PlainWire:
    """Roll-ups every so often; those listed in `empty` lose their rows."""

    every_us: int = 10 * SECOND
    first_us: int = 0
    empty: tuple[int, ...] = ()
    sent: list[tuple[int, tuple[Need, ...]]] = field(default_factory=list)

    def pause_us(self, ordinal: int) -> int:
        return self.every_us if ordinal else self.first_us

    def rows(self, ordinal: int, rows: tuple[Need, ...], now_us: int) -> tuple[Need, ...]:
        self.sent.append((now_us, () if ordinal in self.empty else rows))
        return self.sent[-1][1]


@dataclass
class PlainCosts:
    cycle: int = 50 * MS
    rollup: int = 20 * MS
    acknowledge: int = 0
    publish: int = 30 * MS

    def cycle_us(self, needs: int) -> int:
        return self.cycle if needs >= 0 else 0

    def rollup_us(self, pods: int, rows: int) -> int:
        return self.rollup if pods + rows >= 0 else 0

    def acknowledge_us(self, requests: int) -> int:
        return self.acknowledge * requests

    def publish_us(self, machine: str, ordinal: int) -> int:
        return self.publish if machine else ordinal


class Ground:
    """A loop, clusters, a provider, and an engine on top. Use `run` to play coroutines on it."""

    def __init__(
        self,
        machines: Sequence[Machine] = (),
        *,
        clusters: Sequence[str] = ("c1",),
        owners: Mapping[str, Sequence[Owner]] | None = None,
        settings: EngineSettings | None = None,
        costs: PlainCosts | None = None,
    ) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.clusters = {name: FakeCluster(name, self.clock) for name in clusters}
        self.provider = FakeProvider(machines, self.clock, self.clusters)
        for name, found in (owners or {}).items():
            for owner in found:
                self.clusters[name].add_owner(owner)
        self.wires = {name: PlainWire() for name in clusters}
        self.costs = costs or PlainCosts()
        self.settings = settings or EngineSettings(concurrency=8)
        self.epoch = 0
        self.notes = Notes()
        self.engine: ReferenceEngine

    def new_engine(self, *, bars: Mapping[str, Sequence[float]] | None = None) -> ReferenceEngine:
        self.epoch += 1
        self.notes = Notes()
        self.engine = ReferenceEngine(
            clock=self.clock,
            provider=self.provider,
            clusters=tuple(self.clusters.values()),
            wires=self.wires,
            costs=self.costs,
            recorder=self.notes,
            settings=self.settings,
            epoch=self.epoch,
            compute_ns=lambda: 0,
            resident_bytes=lambda: 123,
            bars=bars or {},
        )
        return self.engine

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        self.loop.run_until_complete(work)

    async def until(self, at_us: int) -> None:
        await self.clock.sleep_until(at_us)

    async def go(self, until_us: int) -> None:
        """Start an engine with demand that is ready, and let it run."""
        engine = self.new_engine()
        await engine.start()
        engine.demand_ready()
        await self.until(until_us)

    def play(self, until_us: int) -> Notes:
        self.run(self.go(until_us))
        return self.notes

    def samples(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.engine.registry.collect()
            for sample in family.samples
        }

    def sample(self, name: str, **labels: str) -> float:
        return self.samples()[name, tuple(sorted(labels.items()))]
