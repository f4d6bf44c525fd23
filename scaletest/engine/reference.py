"""The reference engine as a whole: one agent per cluster, the shard, the execute pool, and their numbers.

It knows ports only. What it was told and what it did goes to a Recorder and into its registry; all that outlives it is
what the provider and the clusters keep, so a new one with a higher epoch takes over from there.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from scaletest.engine.agent import Agent
from scaletest.engine.decide import Fleet, Kind
from scaletest.engine.execute import Pool
from scaletest.engine.facts import Recorder
from scaletest.engine.inventory import Inventory
from scaletest.engine.metrics import EngineMetrics
from scaletest.engine.progress import Progress
from scaletest.engine.settings import EngineSettings, settings_without
from scaletest.engine.shard import Shard
from scaletest.engine.wire import Costs, Wire
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Cluster
from scaletest.ports.provider import Provider

__all__ = ["Costs", "EngineSettings", "ReferenceEngine", "Wire", "settings_without"]


class ReferenceEngine:
    """The engine. `compute_ns` is a processor clock, `bars` are histogram edges to add, by metric."""

    def __init__(
        self,
        *,
        clock: Clock,
        provider: Provider,
        clusters: Sequence[Cluster],
        wires: Mapping[str, Wire],
        costs: Costs,
        recorder: Recorder,
        settings: EngineSettings,
        epoch: int,
        compute_ns: Callable[[], int],
        resident_bytes: Callable[[], int],
        bars: Mapping[str, Sequence[float]],
    ) -> None:
        self._clock = clock
        self._metrics = metrics = EngineMetrics(bars=bars, resident_bytes=resident_bytes)
        self.registry = metrics.registry
        progress = Progress(clock=clock, costs=costs, metrics=metrics)
        fleet = Fleet()
        inventory = Inventory(fleet, metrics=metrics, moved=progress.moved)
        self._agents: dict[str, Agent] = {}
        self._pool = Pool(
            clock=clock,
            provider=provider,
            sessions=self._agents,
            inventory=inventory,
            progress=progress,
            metrics=metrics,
            recorder=recorder,
            settings=settings,
            epoch=epoch,
        )
        self._shard = Shard(
            clock=clock,
            provider=provider,
            fleet=fleet,
            inventory=inventory,
            pool=self._pool,
            costs=costs,
            metrics=metrics,
            recorder=recorder,
            settings=settings,
            compute_ns=compute_ns,
        )
        for cluster in clusters:
            metrics.quarantined[cluster.name] = 0
            self._agents[cluster.name] = Agent(
                cluster,
                clock=clock,
                wire=wires[cluster.name],
                costs=costs,
                metrics=metrics,
                deliver=self._shard.receive,
                requests_for_bound=settings.requests_for_bound,
            )

    async def start(self) -> None:
        """List machines and Pods, and begin to cycle; agents hold their roll-ups."""
        self._metrics.started_us = self._clock.now_us()
        self._pool.start()
        await asyncio.gather(*[agent.start() for agent in self._agents.values()])
        await self._shard.start()

    def demand_ready(self) -> None:
        """Let agents send their first roll-up, each once every live Pod that it lists has its request."""
        for agent in self._agents.values():
            agent.demand_ready()

    async def stop(self) -> None:
        """Stop as a process would: nothing is finished, nothing is told to anybody."""
        await self._shard.stop()
        await self._pool.stop()
        for agent in self._agents.values():
            await agent.stop()

    def covered(self) -> Mapping[str, int]:
        """Return how many Pods each cluster's last accepted roll-up covers whose requests are acknowledged."""
        return {name: pods - self._agents[name].unacknowledged for name, pods in self._shard.covered.items()}

    @property
    def last_cycle_us(self) -> int:
        """Return how long the last cycle took."""
        return self._shard.last_cycle_us

    @property
    def acquisitions(self) -> int:
        """Return the machines acquired so far: Bootstrap and Provision actions that were accepted."""
        return self._metrics.actions[Kind.BOOTSTRAP] + self._metrics.actions[Kind.PROVISION]

    @property
    def reclaims(self) -> int:
        """Return the reclaims accepted so far."""
        return self._metrics.actions[Kind.RECLAIM]
