"""Two grounds for one suite: a simulated cluster on virtual time, and a real one. A story is played on either.

What only a ground can do, a scene does for it: hold controllers back, cut a connection, forget old revisions.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final, Protocol

from contract.readers import Reader
from real_clusters import reader_of, session
from scaletest.model import US_PER_SECOND, Machine
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Cluster, Nodes, Owner, WatchBrokenError
from scaletest.world.kwok.api import ApiServer
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.clusters import KwokCluster
from scaletest.world.kwok.controllers import hold_controllers, release_controllers
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.sim.cluster import SimCluster
from scaletest.world.sim.loop import VirtualClock, VirtualLoop
from scaletest.world.sim.watching import SimWatch
from sim_clusters import machine, owner, world

MAX_PODS: Final = 20
_OWNERS_EACH: Final = 1000
_FORGOTTEN_AFTER_US: Final = 61 * US_PER_SECOND


class ClusterWithNodes(Cluster, Nodes, Protocol):
    """Both ports of a cluster."""


class Scene:
    """One story's place in a cluster: its own owners and machines, which no other story's Pods can use."""

    def __init__(self, number: int, cluster: ClusterWithNodes, clock: Clock) -> None:
        self.cluster, self.clock = cluster, clock
        self._number = number
        self._owners: dict[int, None] = {}
        self._nodes: dict[str, None] = {}
        self._readers: list[Reader] = []

    def owner(self, replicas: int, **details: Any) -> Owner:
        """Return an owner whose Pods can only be bound to this scene's machines."""
        number = self._number * _OWNERS_EACH + len(self._owners)
        self._owners[number] = None
        return owner(number, replicas, types=(self.instance_type,), **details)

    @property
    def instance_type(self) -> str:
        """Return the instance type that only this scene's machines are of."""
        return f"type-{self._number}"

    def node(self, name: str) -> str:
        """Return the full name of a Node."""
        return f"m-{self._number}-{name}.0"

    def machine(self, name: str, *, pods: int = 10, zone: str = "a", rack: str = "r-1") -> Machine:
        """Return a machine for so many Pods of 1 cpu."""
        return machine(f"{self._number}-{name}", pods=pods, zone=zone, rack=rack, instance_type=self.instance_type)

    async def add_nodes(self, *machines: Machine) -> None:
        """Let machines join, and wait until they are Ready."""
        reader = await self.reader()
        await self.add_nodes_unseen(*machines)
        await reader.until(lambda: all(reader.nodes.get(f"{each.id}.0") for each in machines))
        reader.close()

    async def add_nodes_unseen(self, *machines: Machine) -> None:
        """Let machines join; whoever watches will see them become Ready."""
        for each in machines:
            self._nodes[f"{each.id}.0"] = None
            await self.cluster.add_node(f"{each.id}.0", each)

    async def reader(self, cluster: Cluster | None = None) -> Reader:
        """Return a reader that has listed, and watches."""
        mine = range(self._number * _OWNERS_EACH, (self._number + 1) * _OWNERS_EACH)
        reader = Reader(cluster or self.cluster, mine=mine, machines=f"m-{self._number}-")
        self._readers.append(reader)
        return await reader.open()

    async def filled(self, replicas: int, *, on: str = "a", **details: Any) -> tuple[Owner, Reader]:
        """Return an owner whose Pods are all bound, and a reader that has seen it."""
        await self.add_nodes(self.machine(on))
        reader = await self.reader()
        made = self.owner(replicas, **details)
        await self.cluster.create_owners([made])
        await reader.until_bound(replicas)
        return made, reader

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now_us() + round(seconds * US_PER_SECOND))

    async def leave(self) -> None:
        """Take away what is left of the story."""
        for reader in self._readers:
            reader.close()
        await self.cluster.delete_owners(list(self._owners))
        for node in self._nodes:
            await self.cluster.remove_node(node)

    def abandon(self) -> None:
        """Leave everything where it is: the cluster is no more."""
        self._owners.clear()
        self._nodes.clear()

    def another(self) -> Cluster:
        """Return the cluster as somebody else sees it: an agent beside the driver."""
        raise NotImplementedError

    def filling(self) -> Any:
        """Return a context in which no controller acts: Pods can be created where they are to be."""
        raise NotImplementedError

    def cut(self, reader: Reader) -> None:
        """Cut a reader's connection, and maybe others."""
        raise NotImplementedError

    async def forget(self) -> None:
        """Let the server forget all revisions up to now."""
        raise NotImplementedError


Story = Callable[[Scene], Awaitable[None]]


class SimScene(Scene):
    """A scene in memory."""

    cluster: SimCluster

    def another(self) -> Cluster:
        return self.cluster

    @asynccontextmanager
    async def filling(self) -> AsyncIterator[None]:
        yield  # a simulated owner is created whole

    def cut(self, reader: Reader) -> None:
        assert isinstance(reader.watch, SimWatch)
        reader.watch.end(WatchBrokenError("cut"))

    async def forget(self) -> None:
        many = self.owner(2000)
        await self.cluster.create_owners([many])
        await self.cluster.delete_owners([many.id])
        await self.clock.sleep_until(self.clock.now_us() + _FORGOTTEN_AFTER_US)
        self.cluster._log.trim()


class KubeScene(Scene):
    """A scene in a real cluster."""

    cluster: KubeCluster

    def __init__(self, number: int, cluster: KubeCluster, clock: Clock, ground: "KubeGround", api: ApiServer) -> None:
        super().__init__(number, cluster, clock)
        self._ground, self._api = ground, api

    def another(self) -> Cluster:
        return reader_of(self._ground.raised, self._api, clock=self.clock, max_pods=MAX_PODS)

    @asynccontextmanager
    async def filling(self) -> AsyncIterator[None]:
        argv = await hold_controllers(self._ground.raised)
        try:
            yield
        finally:
            self._ground.raised = await release_controllers(self._ground.raised, argv)

    def cut(self, reader: Reader) -> None:  # noqa: ARG002 - a session does not tell whose connection is whose
        connector = self._api._session.connector
        assert connector is not None
        for connection in list(connector._acquired):
            assert connection.transport is not None
            connection.transport.abort()

    async def forget(self) -> None:
        # Where a reader is who was away for long. The kind CapacityRequest is younger than etcd's first revision, so
        # that no server can go on from there.
        for position in self.cluster._listed.values():
            assert position.requests is not None
            position.requests.revision = 1


class Ground(Protocol):
    """Where stories are played."""

    name: str

    def play(self, story: Story) -> None:
        """Play a story from beginning to end."""


class SimGround:
    """The simulated world; Pods terminate for a while, as with a kubelet."""

    name = "sim"

    def play(self, story: Story) -> None:
        loop = VirtualLoop()
        setting = world(lag=-0.3)
        cluster = SimCluster(name="c", ordinal=0, loop=loop, world=setting, seed=1, max_pods=MAX_PODS)

        async def main() -> None:
            scene = SimScene(1, cluster, VirtualClock(loop))
            await story(scene)
            cluster.check()
            await scene.leave()

        loop.run_until_complete(main())
        cluster.check()


class KubeGround:
    """A real cluster that many stories share."""

    name = "kwok"

    def __init__(self, raised: KwokCluster) -> None:
        self.raised = raised
        self._numbers = count(1)

    def play(self, story: Story) -> None:
        async def main() -> None:
            clock = SystemClock.starting_now()
            async with session(self.raised) as api:
                cluster = reader_of(self.raised, api, clock=clock, max_pods=MAX_PODS)
                scene = KubeScene(next(self._numbers), cluster, clock, self, api)
                try:
                    await story(scene)
                finally:
                    await scene.leave()

        asyncio.run(main())
