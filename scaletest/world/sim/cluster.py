"""A cluster in memory, behind the ports Cluster and Nodes.

Every call takes its time first and then acts at once and whole, so an answer is never older than the instant at which
it is given. What a call sets off afterwards is in lives.py (Pods) and scheduler.py.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress, groupby
from typing import Final

from scaletest.model import Machine, Requirement, Resources, Stream, microseconds
from scaletest.model.latency import Delay, SignedDelay
from scaletest.ports.cluster import (
    Answer,
    Change,
    Gone,
    NodeEvent,
    Owner,
    PodEvent,
    PodList,
    PodTemplate,
)
from scaletest.profile.blocks import Latency
from scaletest.profile.world import World
from scaletest.world.sim.agenda import Agenda
from scaletest.world.sim.checking import check_books
from scaletest.world.sim.kinds import Kind, topology_keys
from scaletest.world.sim.lives import Lives
from scaletest.world.sim.loop import VirtualLoop
from scaletest.world.sim.nodes import Node
from scaletest.world.sim.pods import ACKNOWLEDGED, GONE, REQUESTED, SEAT_MASK, TERMINATING
from scaletest.world.sim.watching import EventLog, SimWatch

__all__ = ["SimCluster"]

_WRITE_US: Final = 100
"""What every item of a batch adds to the duration of a write."""

# Members of an enum are slow to reach, and these are needed for every Pod.
_OK: Final = Answer.OK
_CONFLICT: Final = Answer.CONFLICT
_NOT_FOUND: Final = Answer.NOT_FOUND
_REQUESTED: Final = Change.REQUESTED

_KindKey = tuple[tuple[Requirement, ...], Resources, tuple[str, ...]]


class SimCluster:
    """One simulated cluster; `ordinal` is its place in the plan and keys its draws."""

    def __init__(self, *, name: str, ordinal: int, loop: VirtualLoop, world: World, seed: int, max_pods: int) -> None:
        self._name = name
        self._seed, self._ordinal = seed, ordinal
        self._loop = loop
        self._agenda = Agenda(loop)
        self._max_pods = max_pods
        self._api_latency = _delay(world.api_latency)
        self._node_ready = _delay(world.node_ready)
        self._calls: dict[str, tuple[Stream, int]] = {}
        self._joins: dict[str, int] = {}
        self._nodes: dict[str, Node] = {}
        self._kinds: dict[_KindKey, Kind] = {}
        self._log = EventLog(
            loop=loop,
            agenda=self._agenda,
            seed=seed,
            cluster=ordinal,
            delay=_delay(world.watch_delay),
            breaks_per_hour=world.watch_breaks_per_hour,
        )
        lag = world.replacement_lag
        self._lives = Lives(
            agenda=self._agenda,
            log=self._log,
            lag=SignedDelay(microseconds(lag.p50_seconds), microseconds(lag.p99_seconds)),
            lags=Stream.of(seed, "replacement-lag", ordinal),
            scheduler=world.scheduler,
        )

    # Readings that cost nothing and belong to no port.

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return self._name

    @property
    def live(self) -> int:
        """Return how many Pods are not gone."""
        self._agenda.catch_up()
        return self._lives.pods.live

    @property
    def bound_ready(self) -> int:
        """Return how many Pods are on a Ready Node, terminating ones included."""
        self._agenda.catch_up()
        return self._lives.on_ready_nodes

    @property
    def nodes(self) -> int:
        """Return how many Nodes there are."""
        return len(self._nodes)

    def check(self) -> None:
        """Raise AssertionError with a sentence when the cluster's books do not agree."""
        self._agenda.catch_up()
        check_books(self._lives, self._nodes, max_pods=self._max_pods)

    # The Cluster port: reading.

    async def list(self) -> PodList:
        """List Pods and owners."""
        await self._take_time("list")
        pods = self._lives.pods
        ids = pods.ids  # a free seat has none
        return PodList(
            revision=self._log.revision,
            owners=tuple(owner.owner for owner in self._lives.owners.values()),
            pods=array("q", compress(ids, ids)),
            owner_of=array("q", compress(pods.owner_of, ids)),
            nodes=tuple([node.name if node else "" for node in compress(pods.node_of, ids)]),
            requested=array("b", [flags & REQUESTED for flags in compress(pods.flags, ids)]),
            terminating=array("q", [pod for pod, state in zip(ids, pods.state, strict=True) if state == TERMINATING]),
        )

    async def list_nodes(self) -> tuple[int, tuple[NodeEvent, ...]]:
        """List Nodes as ADDED events, with their revision."""
        await self._take_time("list-nodes")
        return self._log.revision, tuple(node.event(Change.ADDED) for node in self._nodes.values())

    def watch(self, revision: int) -> SimWatch:
        """Watch Pods and Nodes from a revision on; one that is not kept any more fails with the first `next`."""
        return self._log.watch(revision)

    async def pods_on(self, node: str) -> Sequence[int]:
        """List the Pods of a Node, terminating ones included."""
        await self._take_time("pods-on")
        found = self._nodes.get(node)
        return tuple(found.pods) if found else ()

    # The Cluster port: owners.

    async def create_owners(self, owners: Sequence[Owner], nodes: Sequence[Sequence[str]] = ()) -> Sequence[Answer]:
        """Create owners with all their Pods; `nodes` binds the first Pods of each owner where it says.

        Raise ValueError when a Node is not there or has no room: the caller counted wrong.
        """
        await self._take_time("create-owners", len(owners))
        return [self._create(owner, nodes[n] if n < len(nodes) else ()) for n, owner in enumerate(owners)]

    def _create(self, owner: Owner, nodes: Sequence[str]) -> Answer:
        if owner.id in self._lives.owners:
            return Answer.CONFLICT
        if len(nodes) > owner.replicas:
            raise ValueError(f"{len(nodes)} Nodes are named for the {owner.replicas} Pods of {owner.name}")
        adopted = self._lives.adopt(owner, self._kind_of(owner.template))
        for name, pods in groupby(nodes):
            if name not in self._nodes:
                raise ValueError(f"there is no Node {name} for a Pod of {owner.name}")
            self._lives.place(adopted, self._nodes[name], len(list(pods)))
        self._lives.fill(adopted, owner.replicas - len(nodes))
        return Answer.OK

    def _kind_of(self, template: PodTemplate) -> Kind:
        key = (template.requirements, template.requests, topology_keys(template))
        if key not in self._kinds:
            self._kinds[key] = kind = Kind(template)
            for node in self._nodes.values():
                kind.join(node)
        return self._kinds[key]

    async def scale(self, owner: int, replicas: int) -> Answer:
        """Change how many Pods an owner has; Pods go at once, waiting ones first, then the youngest."""
        await self._take_time("scale", 1)
        found = self._lives.owners.get(owner)
        if found is None:
            return Answer.NOT_FOUND
        more = replicas - found.owner.replicas
        found.owner = replace(found.owner, replicas=replicas)
        # Replacements that are still to come fill the rest, each after its own lag.
        self._lives.fill(found, min(more, replicas - found.active))
        for pod in self._lives.first_to_go(found, found.active - replicas):
            self._lives.vanish(pod)
        return Answer.OK

    async def delete_owners(self, owners: Sequence[int]) -> Sequence[Answer]:
        """Delete owners and, at once, their Pods."""
        await self._take_time("delete-owners", len(owners))
        return [self._delete_owner(number) for number in owners]

    def _delete_owner(self, number: int) -> Answer:
        found = self._lives.owners.get(number)
        if found is None:
            return Answer.NOT_FOUND
        for pod in tuple(found.pods):
            self._lives.vanish(pod)
        del self._lives.owners[number]
        return Answer.OK

    # The Cluster port: Pods and their requests.

    async def delete_pods(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Delete Pods; one that is gone is not found, one that terminates does so already."""
        await self._take_time("delete-pods", len(pods))
        return [self._lives.remove(pod, Gone.DELETED) for pod in pods]

    async def evict(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Evict Pods; one that is gone is not found, one that terminates does so already."""
        await self._take_time("evict", len(pods))
        return [self._lives.remove(pod, Gone.EVICTED) for pod in pods]

    async def create_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Make the capacity requests of Pods; a second one for a Pod is a conflict."""
        await self._take_time("create-requests", len(pods))
        return self._request(pods)

    async def acknowledge_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Mark capacity requests as seen by the engine; a Pod without one is not found."""
        await self._take_time("acknowledge-requests", len(pods))
        return [self._acknowledge(pod) for pod in pods]

    def _request(self, wanted: Sequence[int]) -> Sequence[Answer]:
        pods, events, answers = self._lives.pods, [], []
        flags, owner_of = pods.flags, pods.owner_of
        for pod in wanted:
            seat = pod & SEAT_MASK
            if pods.state_of(pod) == GONE:
                answers.append(_NOT_FOUND)
            elif flags[seat] & REQUESTED:
                answers.append(_CONFLICT)
            else:
                flags[seat] |= REQUESTED
                events.append(PodEvent(_REQUESTED, pod, owner_of[seat]))
                answers.append(_OK)
        self._log.add_all(events)
        return answers

    def _acknowledge(self, pod: int) -> Answer:
        pods, seat = self._lives.pods, pod & SEAT_MASK
        if pods.state_of(pod) == GONE or not pods.flags[seat] & REQUESTED:
            return _NOT_FOUND
        pods.flags[seat] |= ACKNOWLEDGED
        return _OK

    async def cordon(self, node: str) -> Answer:
        """Let no further Pod bind to a Node."""
        await self._take_time("cordon", 1)
        found = self._nodes.get(node)
        if found is None:
            return Answer.NOT_FOUND
        if not found.cordoned:
            found.cordoned, found.open = True, False
            self._log.add_node(found.event(Change.CORDONED))
        return Answer.OK

    async def _take_time(self, call: str, items: int = 0) -> None:
        """Let a call last; its duration is keyed by the call's name and how many of that name there were."""
        stream, made = self._calls.get(call) or (Stream.of(self._seed, "api-latency", self._ordinal, call), 0)
        self._calls[call] = (stream, made + 1)
        lasts_us = self._api_latency.draw(stream, made) + _WRITE_US * items
        await self._loop.instant(self._loop.now_us() + lasts_us)
        self._agenda.catch_up()

    # The Nodes port.

    async def add_node(self, name: str, machine: Machine) -> None:
        """Let a machine join; it becomes Ready by itself."""
        if name in self._nodes:
            raise ValueError(f"there is a Node {name} already")
        self._agenda.catch_up()
        self._nodes[name] = node = Node(name, machine, created_us=self._agenda.now_us, slots=self._max_pods)
        self._log.add_node(node.event(Change.ADDED))
        for kind in self._kinds.values():
            if kind.join(node):
                self._lives.scheduler.redrawn(kind)
        joins = self._joins[name] = self._joins.get(name, 0) + 1
        delay_us = self._node_ready.draw(Stream.of(self._seed, "node-ready", name), joins)
        self._agenda.add(self._agenda.now_us + delay_us, self._become_ready, node)

    def _become_ready(self, node: Node) -> None:
        if self._nodes.get(node.name) is not node:
            return
        node.ready, node.open = True, not node.cordoned
        self._lives.on_ready_nodes += len(node.pods)
        self._log.add_node(node.event(Change.READY))
        self._lives.scheduler.grew(node)

    async def drained(self, name: str, *, until_us: int) -> bool:
        """Wait until no Pod is left on a Node, at most until an instant; say whether it is empty."""
        self._agenda.catch_up()
        node = self._nodes.get(name)
        if node is None or not node.pods:
            return True
        empty = self._loop.instant(until_us)
        node.empty.append(empty)
        self._agenda.wait()
        try:
            await empty
        finally:
            self._agenda.wait_no_more()
        self._agenda.catch_up()
        return not node.pods

    async def remove_node(self, name: str, *, lost: bool = False) -> None:
        """Take a Node away with whatever Pods are still on it; their owners replace them."""
        self._agenda.catch_up()
        node = self._nodes.pop(name, None)
        if node is None:
            return
        node.open = False
        for kind in self._kinds.values():
            if kind.leave(node):
                self._lives.scheduler.redrawn(kind)
        for pod in tuple(node.pods):
            self._lives.lose(pod, Gone.NODE_LOST if lost else Gone.EVICTED)
        self._log.add_node(node.event(Change.DELETED))


def _delay(latency: Latency) -> Delay:
    return Delay.of(p50_us=microseconds(latency.p50_seconds), p99_us=microseconds(latency.p99_seconds))
