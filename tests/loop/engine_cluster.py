"""A cluster in memory, true to its port: evicted Pods come back; watches break, replay and expire on demand."""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scaletest.model import Machine, Operator, Requirement, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY
from scaletest.ports.cluster import (
    SEATS,
    Answer,
    Change,
    Gone,
    NodeEvent,
    Owner,
    PodEvent,
    PodList,
    PodTemplate,
    WatchBatch,
    WatchBrokenError,
    WatchExpiredError,
)
from scaletest.ports.crew import Crew
from scaletest.world.sim.loop import VirtualClock

MS = 1_000
SECOND = 1_000_000
KIND = "m.large"


def template(*, cpu: int = 1_000, same: str | None = None, priority: int = 1_000) -> PodTemplate:
    return PodTemplate(
        requests=Resources.of({"cpu": cpu}),
        requirements=(Requirement(INSTANCE_TYPE_KEY, Operator.IN, (KIND,)),),
        priority=priority,
        colocation_key=same,
    )


@dataclass
class Pod:
    owner: int
    node: str = ""
    requested: bool = False
    acknowledged: bool = False
    leaving: bool = False


class FakeWatch:
    def __init__(self, cluster: "FakeCluster", revision: int) -> None:
        self._cluster = cluster
        self._at = revision

    async def next(self) -> WatchBatch:
        cluster = self._cluster
        while True:
            if cluster.expired_before > self._at:
                raise WatchExpiredError
            if cluster.breaks:
                cluster.breaks -= 1
                raise WatchBrokenError
            if cluster.revision > self._at:
                break
            await cluster.happened()
        await cluster.wait(cluster.watch_delay_us)
        if cluster.expired_before > self._at:
            raise WatchExpiredError
        start = max(0, self._at - cluster.replays)
        events, self._at = cluster.log[start:], cluster.revision
        return WatchBatch(
            cluster.clock.now_us(),
            0,
            self._at,
            tuple(event for event in events if isinstance(event, PodEvent)),
            tuple(event for event in events if isinstance(event, NodeEvent)),
        )

    def close(self) -> None:
        pass


class FakeCluster:
    """One cluster: owners and their Pods, Nodes, and a scheduler that takes the first Node with room."""

    def __init__(self, name: str, clock: VirtualClock) -> None:
        self.name = name
        self.clock = clock
        self.owners: dict[int, Owner] = {}
        self.pods: dict[int, Pod] = {}
        self.nodes: dict[str, Machine] = {}
        self.cordoned: dict[str, None] = {}
        self.log: list[PodEvent | NodeEvent] = []
        self.expired_before = 0
        self.breaks = 0
        self.replays = 0
        """How many events a watch shows again before the new ones."""
        self.watch_delay_us = 20 * MS
        self.call_us = 5 * MS
        self.answer: Callable[[str, int], Answer] = lambda _call, _pod: Answer.OK
        self.calls: list[tuple[str, int]] = []
        self._serial = 0
        self._seats: list[int] = []
        self._crew = Crew()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def revision(self) -> int:
        return len(self.log)

    async def happened(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _tell(self, *events: PodEvent | NodeEvent) -> None:
        self.log += events
        self.poke()

    def poke(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting = []

    def expire(self) -> None:
        """Make every open watch too old to go on from."""
        self.log.append(NodeEvent(Change.READY, "nobody.0", "nobody"))
        self.expired_before = self.revision
        self.poke()

    async def wait(self, duration_us: int) -> None:
        await self.clock.sleep_until(self.clock.now_us() + duration_us)

    # --- the world's side

    def add_owner(self, owner: Owner) -> None:
        self.owners[owner.id] = owner
        for _ in range(owner.replicas):
            self.add_pod(owner.id)

    def add_pod(self, owner: int) -> int:
        self._serial += 1
        seat = self._seats.pop() if self._seats else len(self.pods) + self._serial
        pod = self._serial * SEATS + seat
        self.pods[pod] = Pod(owner)
        self._tell(PodEvent(Change.ADDED, pod, owner))
        self.schedule()
        return pod

    def remove_pod(self, pod: int, *, reason: Gone = Gone.DELETED) -> None:
        found = self.pods.pop(pod)
        self._seats.append(pod % SEATS)
        self._tell(PodEvent(Change.DELETED, pod, found.owner, found.node, reason))
        if found.owner in self.owners and self._live(found.owner) < self.owners[found.owner].replicas:
            self.add_pod(found.owner)
        self.schedule()

    def _live(self, owner: int) -> int:
        return sum(pod.owner == owner for pod in self.pods.values())

    def resize(self, owner: int, replicas: int) -> None:
        self.owners[owner] = replace(self.owners[owner], replicas=replicas)
        while self._live(owner) > replicas:
            self.remove_pod(next(pod for pod, found in self.pods.items() if found.owner == owner))
        while self._live(owner) < replicas:
            self.add_pod(owner)

    def schedule(self) -> None:
        waiting = [(pod, found) for pod, found in self.pods.items() if not found.node]
        if not waiting:
            return
        free = {name: found.allocatable["cpu"] for name, found in self.nodes.items() if name not in self.cordoned}
        for there in self.pods.values():
            if there.node in free:
                free[there.node] -= self._cpu(there)
        for pod, found in waiting:
            node = next((name for name, room in free.items() if room >= self._cpu(found)), "")
            if node:
                found.node = node
                free[node] -= self._cpu(found)
                self._tell(PodEvent(Change.BOUND, pod, found.owner, node))

    def _cpu(self, pod: Pod) -> int:
        return self.owners[pod.owner].template.requests["cpu"]

    def add_node(self, name: str, found: Machine) -> None:
        self.nodes[name] = found
        self._tell(NodeEvent(Change.ADDED, name, found.id), NodeEvent(Change.READY, name, found.id, ready=True))
        self.schedule()

    def remove_node(self, name: str) -> None:
        found = self.nodes.pop(name)
        self.cordoned.pop(name, None)
        self._tell(NodeEvent(Change.DELETED, name, found.id))
        for pod in [pod for pod, there in self.pods.items() if there.node == name]:
            self.remove_pod(pod, reason=Gone.NODE_LOST)

    # --- the port

    async def list(self) -> PodList:
        self.calls.append(("list", 0))
        # Taken at once and received later, as a slow answer is.
        answer = PodList(
            self.revision,
            tuple(self.owners.values()),
            array("q", self.pods),
            array("q", [pod.owner for pod in self.pods.values()]),
            tuple(pod.node for pod in self.pods.values()),
            array("b", [pod.requested for pod in self.pods.values()]),
            array("q", [pod for pod, found in self.pods.items() if found.leaving]),
        )
        await self.wait(self.call_us)
        return answer

    async def list_nodes(self) -> tuple[int, tuple[NodeEvent, ...]]:
        await self.wait(self.call_us)
        return self.revision, tuple(NodeEvent(Change.ADDED, name, found.id) for name, found in self.nodes.items())

    def watch(self, revision: int) -> FakeWatch:
        return FakeWatch(self, revision)

    async def create_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        return await self._each("request", pods, self._request)

    def _request(self, pod: int) -> None:
        self.pods[pod].requested = True
        self._tell(PodEvent(Change.REQUESTED, pod, self.pods[pod].owner))

    async def acknowledge_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        return await self._each("acknowledge", pods, self._acknowledge)

    def _acknowledge(self, pod: int) -> None:
        self.pods[pod].acknowledged = True

    async def evict(self, pods: Sequence[int]) -> Sequence[Answer]:
        return await self._each("evict", pods, self._evict)

    def _evict(self, pod: int) -> None:
        if not self.pods[pod].leaving:
            self.pods[pod].leaving = True
            self._tell(PodEvent(Change.TERMINATING, pod, self.pods[pod].owner, self.pods[pod].node))
            self._crew.start(self._leave(pod), name=f"pod {pod}")

    async def _leave(self, pod: int) -> None:
        await self.wait(700 * MS)
        if pod in self.pods:
            self.remove_pod(pod, reason=Gone.EVICTED)

    async def _each(self, call: str, pods: Sequence[int], does: Callable[[int], None]) -> Sequence[Answer]:
        self.calls.append((call, len(pods)))
        await self.wait(self.call_us)
        answers = []
        for pod in pods:
            answer = self.answer(call, pod) if pod in self.pods else Answer.NOT_FOUND
            # A call that times out may well have done its work.
            if answer in {Answer.OK, Answer.TIMEOUT}:
                does(pod)
            answers.append(answer)
        return answers

    async def cordon(self, node: str) -> Answer:
        await self.wait(self.call_us)
        self.calls.append((f"cordon {node}", 1))
        self.cordoned[node] = None
        return Answer.OK

    async def pods_on(self, node: str) -> Sequence[int]:
        await self.wait(self.call_us)
        return [pod for pod, found in self.pods.items() if found.node == node]

    async def create_owners(self, owners: Sequence[Owner], nodes: Sequence[Sequence[str]] = ()) -> Sequence[Answer]:
        raise NotImplementedError

    async def scale(self, owner: int, replicas: int) -> Answer:
        raise NotImplementedError

    async def delete_owners(self, owners: Sequence[int]) -> Sequence[Answer]:
        raise NotImplementedError

    async def delete_pods(self, pods: Sequence[int]) -> Sequence[Answer]:
        raise NotImplementedError
