"""One reader of a cluster, as driver and agent are: it lists, watches, and holds every event against the port's law.

The law, whatever the world: a Pod is ADDED once and nothing is told of it before, bound once, requested once,
terminating once and DELETED once, after which its id is never heard of again. Stamps follow one another.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from scaletest.ports.cluster import Change, Cluster, NodeEvent, PodEvent, PodList, Watch, WatchBatch

PATIENCE_S: Final = 90.0


class Reader:
    """What one reader has seen of the owners and machines it cares for."""

    def __init__(self, cluster: Cluster, *, mine: range, machines: str) -> None:
        self._cluster, self._mine, self._machines = cluster, mine, machines
        self._told: dict[int, set[Change]] = {}
        self._received_us = 0
        self._watch: Watch | None = None
        self.revision = 0
        self.events: list[PodEvent] = []
        self.node_events: list[NodeEvent] = []
        self.pods: dict[int, str] = {}
        """Pods that are there, and their Nodes."""
        self.owner_of: dict[int, int] = {}
        self.requested: set[int] = set()
        self.leaving: set[int] = set()
        self.nodes: dict[str, bool] = {}
        """Nodes that are there, and whether they are Ready."""

    async def open(self) -> "Reader":
        """List everything and watch from there."""
        listed = await self._cluster.list()
        _, nodes = await self._cluster.list_nodes()
        self._take_in(listed)
        self.nodes = {event.node: event.ready for event in nodes if event.machine.startswith(self._machines)}
        self.revision = listed.revision
        return self.reopen()

    def reopen(self) -> "Reader":
        """Watch from where the last watch ended."""
        self._watch = self._cluster.watch(self.revision)
        return self

    def close(self) -> None:
        """Stop watching."""
        if self._watch is not None:
            self._watch.close()

    @property
    def watch(self) -> Watch:
        """Return the watch."""
        assert self._watch is not None
        return self._watch

    async def next(self) -> WatchBatch:
        """Wait for the next batch and take it in."""
        batch = await self.watch.next()
        self._take(batch)
        return batch

    async def until(self, done: Callable[[], bool]) -> None:
        """Read until something holds."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not done():
                    await self.next()
        except TimeoutError:
            raise AssertionError(f"waited in vain; {self.pods=} {self.nodes=} {self.events=}") from None

    async def until_bound(self, count: int) -> None:
        """Read until so many Pods are there and all of them are bound and none is on its way out."""
        await self.until(lambda: len(self.pods) == count and all(self.pods.values()) and not self.leaving)

    def of(self, change: Change) -> list[PodEvent]:
        """Return the events of a kind."""
        return [event for event in self.events if event.change is change]

    def changes(self, pod: int) -> list[Change]:
        """Return what happened to a Pod."""
        return [event.change for event in self.events if event.pod == pod]

    def _take_in(self, listed: PodList) -> None:
        columns = zip(listed.pods, listed.owner_of, listed.nodes, listed.requested, strict=True)
        for pod, owner, node, requested in columns:
            if owner in self._mine:
                self.pods[pod], self.owner_of[pod] = node, owner
                self._told[pod] = {Change.ADDED} | ({Change.BOUND} if node else set())
                self._told[pod] |= {Change.REQUESTED} if requested else set()
        self.requested = {pod for pod, told in self._told.items() if Change.REQUESTED in told}
        self.leaving = {pod for pod in listed.terminating if pod in self.pods}
        for pod in self.leaving:
            self._told[pod].add(Change.TERMINATING)

    def _take(self, batch: WatchBatch) -> None:
        assert batch.pods or batch.nodes, "a batch tells something"
        assert batch.revision >= self.revision
        assert batch.after_us <= batch.received_us
        assert batch.received_us >= self._received_us
        self.revision, self._received_us = batch.revision, batch.received_us
        for stamps, events in ((batch.pods_us, batch.pods), (batch.nodes_us, batch.nodes)):
            assert len(stamps) == len(events)
            assert sorted(stamps) == list(stamps), "events come in one after the other"
            assert all(at_us <= batch.received_us for at_us in stamps)
        for pod_event in batch.pods:
            if pod_event.owner in self._mine:
                self._see(pod_event)
        for node_event in batch.nodes:
            if node_event.machine.startswith(self._machines):
                self._see_node(node_event)

    def _see(self, event: PodEvent) -> None:
        change, pod = event.change, event.pod
        if change is Change.ADDED:
            assert pod not in self._told, f"told twice: {event}"
            self._told[pod] = set()
            self.pods[pod], self.owner_of[pod] = event.node, event.owner
        assert pod in self.pods, f"told of a Pod that is not there: {event}"
        assert event.owner == self.owner_of[pod]
        assert change not in self._told[pod], f"told twice: {event}"
        self._told[pod].add(change)
        if change is Change.BOUND:
            assert event.node
            assert not self.pods[pod], f"bound twice: {event}"
            self.pods[pod] = event.node
        elif change is Change.REQUESTED:
            self.requested.add(pod)
        elif change is Change.TERMINATING:
            assert event.node == self.pods[pod]
            self.leaving.add(pod)
        elif change is Change.DELETED:
            assert event.node == self.pods.pop(pod)
            self.requested.discard(pod)
            self.leaving.discard(pod)
        self.events.append(event)

    def _see_node(self, event: NodeEvent) -> None:
        if event.change is Change.ADDED:
            assert event.node not in self.nodes, f"told twice: {event}"
        elif event.change is Change.READY:
            assert self.nodes[event.node] is False, f"told twice: {event}"
        if event.change is Change.DELETED:
            del self.nodes[event.node]
        else:
            self.nodes[event.node] = event.ready
        self.node_events.append(event)
