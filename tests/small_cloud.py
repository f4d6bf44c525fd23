"""A cloud over a few machines on virtual time, with two clusters' Nodes in memory."""

import asyncio
from collections.abc import Coroutine, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeVar

from scaletest.model import Attribution, CapacityType, Machine, MachineState, Resources
from scaletest.model.attribution import attribution_metadata
from scaletest.ports.provider import Provider, Token
from scaletest.profile.world import Provider as Settings
from scaletest.world.cloud import Cloud, CloudEvent
from scaletest.world.sim.loop import VirtualClock, VirtualLoop

T = TypeVar("T")

SECOND = 1_000_000
NODE_CALL_US = 1_000
CLUSTERS = ("east", "west")
MINE = Attribution(need_fingerprint="f-1", group="g-1", priority=7)
MINE_WRITTEN = attribution_metadata(MINE)

# Median and 99th percentile are the same, so that a test can say when things happen.
EVEN: dict[str, Any] = {
    call: {"p50Seconds": seconds, "p99Seconds": seconds}
    for call, seconds in {"create": 2.0, "configure": 3.0, "drain": 4.0, "delete": 1.0}.items()
}


class Taken(NamedTuple):
    """A Node that was removed."""

    node: str
    at_us: int
    lost: bool
    with_pods: bool


class PlainNodes:
    """The Nodes port in a dict. A Node that is added twice, or removed while it is not there, is a KeyError."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.standing: dict[str, Machine] = {}
        self.busy_until_us: dict[str, int] = {}
        self.taken: list[Taken] = []

    async def add_node(self, name: str, machine: Machine) -> None:
        await self._clock.sleep_until(self._clock.now_us() + NODE_CALL_US)
        if name in self.standing:
            raise KeyError(name)
        self.standing[name] = machine

    async def drained(self, name: str, *, until_us: int) -> bool:
        empty_us = self.busy_until_us.get(name, 0)
        await self._clock.sleep_until(min(empty_us, until_us))
        return empty_us <= until_us

    async def remove_node(self, name: str, *, lost: bool = False) -> None:
        await self._clock.sleep_until(self._clock.now_us() + NODE_CALL_US)
        del self.standing[name]
        now_us = self._clock.now_us()
        self.taken.append(Taken(name, now_us, lost, with_pods=self.busy_until_us.get(name, 0) > now_us))


class SmallCloud:
    """A cloud with its loop, clock, Nodes and the events it reported; even latencies unless told otherwise."""

    def __init__(
        self, *machines: Machine, seed: int = 7, failure_rate_per_sec: float = 0.0, even: bool = True, **settings: Any
    ) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.nodes = {cluster: PlainNodes(self.clock) for cluster in CLUSTERS}
        self.events: list[CloudEvent] = []
        self._numbers = count()
        self.cloud = Cloud(
            clock=self.clock,
            nodes=self.nodes,
            settings=Settings.model_validate((EVEN if even else {}) | settings),
            failure_rate_per_sec=failure_rate_per_sec,
            seed=seed,
            events=self.events.append,
        )
        self.port: Provider = self.cloud
        self.cloud.seed(machines)
        self.run(self._join())

    async def _join(self) -> None:
        for cluster in CLUSTERS:
            await self.cloud.join(cluster)

    def soak(self, seconds: int = 3600) -> int:
        """Start a soak; return its first instant."""
        at_us = self.clock.now_us()

        async def start() -> None:
            self.cloud.start_soak(at_us, until_us=at_us + seconds * SECOND)

        self.run(start())
        return at_us

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(self._settled(work))

    async def _settled(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            # What was begun at the last instant gets to its first wait; Python complains of coroutines that never ran.
            await asyncio.sleep(0)

    def wait(self, seconds: float) -> None:
        self.run(self.clock.sleep_until(self.clock.now_us() + round(seconds * SECOND)))

    def token(self, epoch: int = 0) -> Token:
        return Token(epoch, next(self._numbers))

    def create(self, machine: str, metadata: Mapping[str, str] = MINE_WRITTEN) -> Coroutine[Any, Any, Machine]:
        return self.cloud.create(machine, token=self.token(), metadata=metadata)

    def configure(
        self, machine: str, cluster: str = "east", metadata: Mapping[str, str] = MINE_WRITTEN
    ) -> Coroutine[Any, Any, Machine]:
        return self.cloud.configure(machine, cluster=cluster, token=self.token(), metadata=metadata)

    def drain(self, machine: str, grace: float = 10.0) -> Coroutine[Any, Any, Machine]:
        return self.cloud.drain(machine, grace_us=round(grace * SECOND), token=self.token())

    def delete(self, machine: str) -> Coroutine[Any, Any, Machine]:
        return self.cloud.delete(machine, token=self.token())

    def states(self) -> dict[str, MachineState]:
        return {machine.id: machine.state for machine in self.run(self.cloud.list(0)).machines}

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def speculative(name: str, *, instance_type: str = "m6i.large", zone: str = "zone-a") -> Machine:
    return Machine(
        id=name,
        state=MachineState.SPECULATIVE,
        instance_type=instance_type,
        zone=zone,
        capacity_type=CapacityType.ON_DEMAND,
        allocatable=Resources.of({"cpu": 2000}),
    )


def idle(name: str) -> Machine:
    return Machine(
        id=name,
        state=MachineState.IDLE,
        instance_type="m6i.large",
        zone="zone-a",
        capacity_type=CapacityType.BARE_METAL,
        allocatable=Resources.of({"cpu": 2000}),
    )


def configured(name: str, cluster: str = "east") -> Machine:
    return Machine(
        id=name,
        state=MachineState.CONFIGURED,
        instance_type="m6i.large",
        zone="zone-a",
        capacity_type=CapacityType.BARE_METAL,
        allocatable=Resources.of({"cpu": 2000}),
        cluster=cluster,
        attribution=MINE,
    )
