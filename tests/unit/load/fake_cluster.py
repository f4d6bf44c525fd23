"""A small true cluster in memory: owners keep their Pods alive, Pods bind after a while, watches break when told to."""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scaletest.ports.cluster import (
    SEATS,
    Answer,
    Change,
    Gone,
    NodeEvent,
    Owner,
    PodEvent,
    PodList,
    WatchBatch,
    WatchBrokenError,
    WatchExpiredError,
)
from scaletest.world.sim.loop import VirtualClock, VirtualLoop


@dataclass
class FakePod:
    id: int
    owner: int
    node: str = ""
    requested: bool = False
    terminating: bool = False


@dataclass(eq=False)
class FakeWatch:
    cluster: "FakeCluster"
    revision: int
    shown_us: int
    error: Exception | None = None
    waiter: asyncio.Future[None] | None = None
    opened_us: int = field(init=False)

    def __post_init__(self) -> None:
        self.opened_us = self.cluster.clock.now_us()

    async def next(self) -> WatchBatch:
        """Show everything that is older than the watch's delay."""
        cluster, log = self.cluster, self.cluster.log
        while True:
            if self.error is not None:
                raise self.error
            if self.revision < len(log):
                due_us = log[self.revision][0] + cluster.watch_us
                if due_us <= cluster.clock.now_us():
                    return self._batch()
                cluster.loop.at(due_us, self.wake)
            self.waiter = cluster.loop.create_future()
            await self.waiter

    def _batch(self) -> WatchBatch:
        now_us, first = self.cluster.clock.now_us(), self.revision
        while (
            self.revision < len(self.cluster.log)
            and self.cluster.log[self.revision][0] + self.cluster.watch_us <= now_us
        ):
            self.revision += 1
        events = self.cluster.log[first : self.revision]
        after_us, self.shown_us = self.shown_us, now_us
        opened_us, delay_us = self.opened_us, self.cluster.watch_us
        pods = [(event, max(at + delay_us, opened_us)) for at, event in events if isinstance(event, PodEvent)]
        nodes = [(event, max(at + delay_us, opened_us)) for at, event in events if isinstance(event, NodeEvent)]
        return WatchBatch(
            now_us,
            after_us,
            self.revision,
            tuple(event for event, _ in pods),
            tuple(event for event, _ in nodes),
            [at for _, at in pods],
            [at for _, at in nodes],
        )

    def wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def close(self) -> None:
        if self in self.cluster.watches:
            self.cluster.watches.remove(self)


def _answer_ok(_call: str, _item: int) -> Answer:
    return Answer.OK


@dataclass(eq=False)
class FakeCluster:
    """Delays are constants; `place` says where a waiting Pod binds (nowhere: it goes on waiting)."""

    name: str
    loop: VirtualLoop
    api_us: int = 5_000
    watch_us: int = 20_000
    lag_us: int = 700_000
    """From a deletion to the replacement; below zero the old Pod terminates for so long beside it."""
    bind_us: int = 300_000
    request_us: int = 100_000
    answer: Callable[[str, int], Answer] = _answer_ok
    """What the API says to a call about an item; what is not OK has no effect."""
    place: Callable[[int], str] | None = None
    keeps: bool = True
    """Controllers replace what is deleted."""
    log: list[tuple[int, PodEvent | NodeEvent]] = field(default_factory=list)
    watches: list[FakeWatch] = field(default_factory=list)
    owners: dict[int, Owner] = field(default_factory=dict)
    pods: dict[int, FakePod] = field(default_factory=dict)
    nodes: dict[str, NodeEvent] = field(default_factory=dict)
    deleted: list[tuple[int, ...]] = field(default_factory=list)
    """Every batch of Pods that was to be deleted."""

    def __post_init__(self) -> None:
        self.clock = VirtualClock(self.loop)
        self._free: list[int] = []
        self._serial = 0
        self._instants: dict[int, int] = {}

    # What tests do to it.

    def add_node(self, name: str, machine: str = "", *, ready: bool = True) -> None:
        now_us = self.clock.now_us()
        self.nodes[name] = NodeEvent(Change.ADDED, name, machine or name, ready=False, created_us=now_us)
        self._log(self.nodes[name])
        if ready:
            self.make_ready(name)

    def make_ready(self, name: str) -> None:
        self.nodes[name] = self.nodes[name]._replace(ready=True)
        self._log(self.nodes[name]._replace(change=Change.READY))

    def lose_node(self, name: str) -> None:
        for pod in [pod for pod in self.pods.values() if pod.node == name]:
            self.remove(pod.id, Gone.NODE_LOST)
        self._log(self.nodes.pop(name)._replace(change=Change.DELETED))

    def remove(self, pod: int, reason: Gone = Gone.DELETED) -> Answer:
        found = self.pods.get(pod)
        if found is None or found.terminating:
            return Answer.NOT_FOUND
        now_us = self.clock.now_us()
        if self.lag_us < 0 and found.node:
            found.terminating = True
            self._log(PodEvent(Change.TERMINATING, pod, found.owner, found.node, reason))
            self.loop.at(now_us - self.lag_us, self._vanish, pod, reason)
        else:
            self._vanish(pod, reason)
        self.loop.at(now_us + max(0, self.lag_us), self._replace, found.owner)
        return Answer.OK

    def bind(self, pod: int, node: str) -> None:
        found = self.pods.get(pod)
        if found is not None and not found.node and not found.terminating:
            found.node = node
            self._log(PodEvent(Change.BOUND, pod, found.owner, node))

    def end_watches(self, *, expired: bool = False) -> None:
        """End every open watch; what they have not shown yet is shown by the next one, or only listed."""
        for watch in list(self.watches):
            watch.error = WatchExpiredError("too old") if expired else WatchBrokenError("reset")
            watch.wake()

    def active(self, owner: int) -> list[int]:
        return [pod.id for pod in self.pods.values() if pod.owner == owner and not pod.terminating]

    # The port.

    async def list(self) -> PodList:
        await self._take_time()
        found = list(self.pods.values())
        return PodList(
            revision=len(self.log),
            owners=tuple(self.owners.values()),
            pods=array("q", [pod.id for pod in found]),
            owner_of=array("q", [pod.owner for pod in found]),
            nodes=tuple(pod.node for pod in found),
            requested=array("b", [pod.requested for pod in found]),
            terminating=array("q", [pod.id for pod in found if pod.terminating]),
        )

    async def list_nodes(self) -> tuple[int, tuple[NodeEvent, ...]]:
        await self._take_time()
        return len(self.log), tuple(self.nodes.values())

    def watch(self, revision: int) -> FakeWatch:
        shown_us = self.log[revision - 1][0] if revision else 0
        watch = FakeWatch(self, revision, shown_us)
        self.watches.append(watch)
        return watch

    async def create_owners(self, owners: Sequence[Owner], nodes: Sequence[Sequence[str]] = ()) -> Sequence[Answer]:
        await self._take_time()
        return [self._create(owner, nodes[n] if n < len(nodes) else ()) for n, owner in enumerate(owners)]

    async def scale(self, owner: int, replicas: int) -> Answer:
        await self._take_time()
        answer = self.answer("scale", owner)
        if answer is Answer.OK:
            self.owners[owner] = replace(self.owners[owner], replicas=replicas)
            for pod in self.active(owner)[replicas:]:
                self._vanish(pod, Gone.DELETED)
            for _ in range(replicas - len(self.active(owner))):
                self._replace(owner)
        return answer

    async def delete_owners(self, owners: Sequence[int]) -> Sequence[Answer]:
        await self._take_time()
        return [self._delete_owner(owner) for owner in owners]

    async def delete_pods(self, pods: Sequence[int]) -> Sequence[Answer]:
        await self._take_time()
        self.deleted.append(tuple(pods))
        answers = [self.answer("delete", pod) for pod in pods]
        return [self.remove(pod) if a is Answer.OK else a for pod, a in zip(pods, answers, strict=True)]

    async def create_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        raise NotImplementedError

    async def acknowledge_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        raise NotImplementedError

    async def cordon(self, node: str) -> Answer:
        raise NotImplementedError

    async def pods_on(self, node: str) -> Sequence[int]:
        raise NotImplementedError

    async def evict(self, pods: Sequence[int]) -> Sequence[Answer]:
        return [self.remove(pod, Gone.EVICTED) for pod in pods]

    # Inside.

    def _create(self, owner: Owner, nodes: Sequence[str]) -> Answer:
        if owner.id in self.owners:
            return Answer.CONFLICT
        answer = self.answer("create", owner.id)
        if answer is Answer.OK:
            self.owners[owner.id] = owner
            for k in range(owner.replicas):
                self._appear(owner.id, nodes[k] if k < len(nodes) else "")
        return answer

    def _delete_owner(self, owner: int) -> Answer:
        if owner not in self.owners:
            return Answer.NOT_FOUND
        for pod in [pod.id for pod in self.pods.values() if pod.owner == owner]:
            self._vanish(pod, Gone.DELETED)
        del self.owners[owner]
        return Answer.OK

    def _appear(self, owner: int, node: str = "") -> None:
        seat = self._free.pop() if self._free else len(self.pods)
        self._serial += 1
        pod = FakePod(self._serial * SEATS + seat, owner, node)
        self.pods[pod.id] = pod
        self._log(PodEvent(Change.ADDED, pod.id, owner, node))
        if not node:
            now_us = self.clock.now_us()
            self.loop.at(now_us + self.request_us, self._request, pod.id)
            self.loop.at(now_us + self.bind_us, self._schedule, pod.id)

    def _request(self, pod: int) -> None:
        if (found := self.pods.get(pod)) is not None:
            found.requested = True
            self._log(PodEvent(Change.REQUESTED, pod, found.owner, found.node))

    def _schedule(self, pod: int) -> None:
        node = self.place(pod) if self.place else next(iter(self.nodes), "")
        if node:
            self.bind(pod, node)

    def _vanish(self, pod: int, reason: Gone) -> None:
        if (found := self.pods.pop(pod, None)) is not None:
            self._free.append(pod % SEATS)
            self._log(PodEvent(Change.DELETED, pod, found.owner, found.node, reason))

    def _replace(self, owner: int) -> None:
        if self.keeps and owner in self.owners and len(self.active(owner)) < self.owners[owner].replicas:
            self._appear(owner)

    def _log(self, event: PodEvent | NodeEvent) -> None:
        self.log.append((self.clock.now_us(), event))
        for watch in self.watches:
            watch.wake()

    async def _take_time(self) -> None:
        await self.clock.sleep_until(self.clock.now_us() + self.api_us)
