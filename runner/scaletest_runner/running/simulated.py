"""The simulated stage: clusters in memory, the cloud, the engine and the load on one virtual clock."""

import gc
import time
from collections.abc import Mapping
from typing import Final

from scaletest.engine.reference import EngineSettings, ReferenceEngine
from scaletest.evidence import Journal, RunRecord
from scaletest.gates.ledger import BINDS
from scaletest.load.driver import LoadDriver
from scaletest.plan.geometry import cluster_name
from scaletest.plan.plan import Plan
from scaletest.world.cloud import Cloud, CloudEvent
from scaletest.world.sim.cluster import SimCluster
from scaletest.world.sim.costs import SimCosts
from scaletest.world.sim.loop import VirtualClock, VirtualLoop
from scaletest.world.wires import PlannedWire
from scaletest_runner.running.book import Book
from scaletest_runner.running.memory import resident_kib
from scaletest_runner.running.recorder import EngineRecorder, event_row
from scaletest_runner.running.scraper import Scraper
from scaletest_runner.running.stage import EngineUnderTest, Stage

__all__ = ["EPOCH_MS", "SimulatedStage"]

EPOCH_MS: Final = 1_767_225_600_000
"""Virtual time zero is the first instant of 2026, so that equal runs have equal timestamps."""
_BINDS: Final = BINDS.removesuffix("_count")


class SimulatedStage:
    """Builds the stage of a plan and keeps what only this world has."""

    def __init__(
        self,
        plan: Plan,
        *,
        loop: VirtualLoop,
        journal: Journal,
        record: RunRecord,
        settings: EngineSettings,
        edges: Mapping[str, tuple[float, ...]],
    ) -> None:
        self._plan, self._journal, self._settings, self._edges = plan, journal, settings, edges
        self._seed = plan.inputs.random_seed
        self._names = [cluster_name(ordinal) for ordinal in range(plan.geometry.clusters)]
        self._ordinals = {name: ordinal for ordinal, name in enumerate(self._names)}
        self.clock = VirtualClock(loop)
        world = plan.profile.world
        self.clusters = [
            SimCluster(name=name, ordinal=n, loop=loop, world=world, seed=self._seed, max_pods=plan.max_pods)
            for n, name in enumerate(self._names)
        ]
        self.wires = {
            name: PlannedWire(world, cluster=name, ordinal=n, seed=self._seed) for n, name in enumerate(self._names)
        }
        self.cloud = Cloud(
            clock=self.clock,
            nodes=dict(zip(self._names, self.clusters, strict=True)),
            settings=plan.profile.provider,
            failure_rate_per_sec=plan.profile.shard.failure_rate_per_sec,
            seed=self._seed,
            events=self._cloud_event,
        )
        self.recorders: list[EngineRecorder] = []
        self.book = Book(journal, record, self.clock)
        self.stage = Stage(
            plan=plan,
            clock=self.clock,
            cloud=self.cloud,
            driver=LoadDriver(
                plan=plan,
                clusters=self.clusters,
                clock=self.clock,
                row=journal.row,
                event=journal.row,
                edges=edges.get(_BINDS, ()),
            ),
            scraper=Scraper(journal, self.clock, epoch_ms=EPOCH_MS),
            book=self.book,
            new_engine=self._new_engine,
            soak_starts=self._soak_starts,
            seeded=_settle_heap,
            engine=self._new_engine(),
        )

    def _new_engine(self) -> EngineUnderTest:
        recorder = EngineRecorder(self._journal, self._ordinals, resident_kib=resident_kib)
        self.recorders.append(recorder)
        return ReferenceEngine(
            clock=self.clock,
            provider=self.cloud,
            clusters=self.clusters,
            wires=self.wires,
            costs=SimCosts(self._plan.profile.world, seed=self._seed),
            recorder=recorder,
            settings=self._settings,
            epoch=len(self.recorders),
            compute_ns=time.thread_time_ns,
            resident_bytes=lambda: 0,
            bars=self._edges,
        )

    def _soak_starts(self, at_us: int) -> None:
        for wire in self.wires.values():
            wire.start_soak(at_us)

    def _cloud_event(self, event: CloudEvent) -> None:
        self._journal.row(event_row(event, self._ordinals))

    def check(self) -> None:
        """Raise AssertionError when the world contradicts itself: capacity, slots, machines or Nodes."""
        for cluster in self.clusters:
            cluster.check()
        self.stage.driver.check()
        assert not (wrong := self.cloud.check()), wrong

    def close(self) -> None:
        """Write what is still open."""
        for recorder in self.recorders:
            recorder.close()


def _settle_heap() -> None:
    """Leave what was seeded out of garbage collection: it stays to the end, and looking through it costs seconds."""
    gc.collect()
    gc.freeze()
