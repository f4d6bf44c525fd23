"""The agent of one cluster: makes a capacity request for every live Pod, rolls demand up, and empties Nodes.

One task watches, one makes requests, one sends roll-ups; evictions and acknowledgements run beside them.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from scaletest.engine.metrics import EngineMetrics
from scaletest.engine.pods import PodTable
from scaletest.engine.wire import Costs, Wire
from scaletest.model import US_PER_SECOND, Need
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import (
    Answer,
    Change,
    Cluster,
    NodeEvent,
    WatchBrokenError,
    WatchExpiredError,
)
from scaletest.ports.crew import Crew

__all__ = ["Agent", "Deliver", "Eviction"]

_BATCH: Final = 500
_GATHER_US: Final = US_PER_SECOND // 4
"""Time in which events gather before they are looked at together: roll-ups leave every ten seconds, not every event."""
_RETRY_US: Final = US_PER_SECOND
_RECONNECT_US: Final = US_PER_SECOND // 2
_EVICT_AGAIN_US: Final = 2 * US_PER_SECOND
_OK: Final = Answer.OK
_AGAIN: Final = (Answer.TIMEOUT, Answer.UNAVAILABLE)

Deliver = Callable[[str, tuple[Need, ...], int], bool]
"""Hands a cluster's roll-up, and how many Pods it covers, to the shard; says whether it was accepted."""


class Eviction:
    """The emptying of one Node: how many Pods it took, once it is over."""

    def __init__(self) -> None:
        self.pods = 0
        self.over = asyncio.Event()


class Agent:
    """One cluster's side of the engine."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        clock: Clock,
        wire: Wire,
        costs: Costs,
        metrics: EngineMetrics,
        deliver: Deliver,
        requests_for_bound: bool = True,
    ) -> None:
        self.name = cluster.name
        self.pods = PodTable(cluster.name, requests_for_bound=requests_for_bound)
        self._cluster = cluster
        self._clock = clock
        self._wire = wire
        self._costs = costs
        self._metrics = metrics
        self._deliver = deliver
        self._nodes: dict[str, str] = {}
        self._revision = 0
        self._lists = 0
        self._learning = False
        self.unacknowledged = 0
        """Requests that a roll-up has carried and that are not marked as seen yet."""
        self._ready = asyncio.Event()
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._crew = Crew()

    async def start(self) -> None:
        """List, then watch, and make requests; roll-ups wait for `demand_ready`."""
        await self._list()
        self._crew.start(self._watch(), name=f"agent {self.name}: watch")
        self._crew.start(self._make_requests(), name=f"agent {self.name}: requests")
        self._crew.start(self._report(), name=f"agent {self.name}: roll-ups")

    def demand_ready(self) -> None:
        """Let the first roll-up go out as soon as every live Pod has its request."""
        self._ready.set()

    async def stop(self) -> None:
        """Stop everything."""
        await self._crew.stop()

    # --- what is there

    async def _list(self) -> None:
        listing = await self._cluster.list()
        # Nodes are listed later and watched from the earlier revision: a change is seen twice rather than never.
        _, nodes = await self._cluster.list_nodes()
        self._revision = listing.revision
        self._lists += 1
        self._nodes = {}
        self._see_nodes(nodes)
        self.pods.take_in(listing)
        self._tell()

    async def _watch(self) -> None:
        while True:
            watch = self._cluster.watch(self._revision)
            try:
                while True:
                    batch = await watch.next()
                    self._revision = batch.revision
                    self._see_nodes(batch.nodes)
                    self.pods.take(batch.pods, self._clock.now_us())
                    self._tell()
                    await self._pause(_GATHER_US)
            except WatchBrokenError:
                await self._pause(_RECONNECT_US)
            except WatchExpiredError:
                await self._list()
            finally:
                watch.close()

    def _see_nodes(self, events: Sequence[NodeEvent]) -> None:
        for event in events:
            newest = self._nodes.get(event.machine)
            if event.change is Change.DELETED:
                if newest == event.node:
                    del self._nodes[event.machine]
            elif newest is None or _generation(event.node) > _generation(newest):
                self._nodes[event.machine] = event.node

    def _tell(self) -> None:
        """Wake whoever waits for Pods; go and ask whose they are if that is not known."""
        self._changed.set()
        if self.pods.missing:
            self._wanted.set()
        if self.pods.strangers and not self._learning:
            self._learning = True
            self._crew.start(self._learn_owners(), name=f"agent {self.name}: owners")

    async def _learn_owners(self) -> None:
        while self.pods.strangers:
            asked = tuple(self.pods.strangers)
            self.pods.learn(await self._cluster.list())
            # An owner that the list no longer shows is gone, and its Pods are going.
            for owner in asked:
                self.pods.strangers.pop(owner, None)
        self._learning = False

    # --- requests

    async def _make_requests(self) -> None:
        while True:
            batch = list(islice(self.pods.missing, _BATCH))
            if not batch:
                # A dict that things left at its front is walked past them all; an emptied one starts afresh.
                self.pods.missing.clear()
                self._wanted.clear()
                await self._wanted.wait()
                continue
            answers = await self._cluster.create_requests(batch)
            made = self.pods.answered(batch, answers, self._clock.now_us())
            self._changed.set()
            if not made:
                await self._pause(_RETRY_US)

    async def _acknowledge(self, pods: list[int]) -> None:
        self.unacknowledged += len(pods)
        for start in range(0, len(pods), _BATCH):
            batch = pods[start : start + _BATCH]
            if made := self.pods.requests_made_us(batch):
                await self._acknowledge_some(made)
            self.unacknowledged -= len(batch)

    async def _acknowledge_some(self, made: list[tuple[int, int]]) -> None:
        await self._pause(self._costs.acknowledge_us(len(made)))
        answers = await self._cluster.acknowledge_requests([pod for pod, _ in made])
        now_us = self._clock.now_us()
        done = Counter(made_us for (_, made_us), answer in zip(made, answers, strict=True) if answer is _OK)
        for made_us, count in done.items():
            self._metrics.acknowledge.observe(now_us - made_us, count)
        if done.total() < len(made):
            self.pods.put_back([pod for (pod, _), answer in zip(made, answers, strict=True) if answer in _AGAIN])

    # --- roll-ups

    async def _report(self) -> None:
        await self._ready.wait()
        await self._all_requested()
        before_us, ordinal = self._clock.now_us(), 0
        while True:
            await self._clock.sleep_until(before_us + self._wire.pause_us(ordinal))
            before_us = self._clock.now_us()
            await self._roll_up(ordinal)
            ordinal += 1

    async def _all_requested(self) -> None:
        """Wait until every Pod that a list shows was seen, and every one that is seen has its request."""
        listing = await self._cluster.list()
        self.pods.learn(listing)
        lists = self._lists
        # A Pod that has settled stays so until the next list.
        for pod in [pod for pod in listing.pods if not self.pods.settled(pod)]:
            while not self.pods.settled(pod) and lists == self._lists:
                await self._next_change()
        for pod in tuple(self.pods.missing):
            while pod in self.pods.missing:
                await self._next_change()

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _roll_up(self, ordinal: int) -> None:
        begun_us = self._clock.now_us()
        needs, covered, fresh = self.pods.needs(), self.pods.covered, self.pods.take_fresh()
        await self._pause(self._costs.rollup_us(covered, len(needs)))
        now_us = self._clock.now_us()
        sent = self._wire.rows(ordinal, needs, now_us)
        accepted = self._deliver(self.name, sent, covered if sent else 0)
        self._metrics.rollup.observe(now_us - begun_us)
        if accepted and sent:
            self._crew.start(self._acknowledge(fresh), name=f"agent {self.name}: acknowledge {ordinal}")
        else:
            self.pods.put_back(fresh)

    # --- machines that go

    async def drain(self, machine: str, *, until_us: int) -> Eviction:
        """Cordon a machine's Node, and go on emptying it in the background until an instant."""
        eviction, node = Eviction(), self._nodes.get(machine)
        if node is None:
            eviction.over.set()
            return eviction
        # Whatever the answer: a Node that could not be cordoned is emptied all the same.
        await self._cluster.cordon(node)
        self._crew.start(self._evict(machine, node, eviction, until_us), name=f"agent {self.name}: evict {node}")
        return eviction

    async def _evict(self, machine: str, node: str, eviction: Eviction, until_us: int) -> None:
        evicted: dict[int, None] = {}
        while self._nodes.get(machine) == node and self._clock.now_us() < until_us:
            pods = await self._cluster.pods_on(node)
            if not pods:
                break
            if fresh := [pod for pod in pods if pod not in evicted]:
                answers = await self._cluster.evict(fresh)
                evicted.update((pod, None) for pod, answer in zip(fresh, answers, strict=True) if answer is Answer.OK)
                eviction.pods = len(evicted)
            await self._pause(_EVICT_AGAIN_US)
        eviction.over.set()

    async def _pause(self, duration_us: int) -> None:
        if duration_us > 0:
            await self._clock.sleep_until(self._clock.now_us() + duration_us)


def _generation(node: str) -> int:
    """Return how often the machine behind a Node had joined before: names are machine, dot, number."""
    return int(node.rpartition(".")[2])
