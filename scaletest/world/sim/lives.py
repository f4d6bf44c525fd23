"""From a Pod's appearance to its end: ReplicaSet controller, kubelet and garbage collection in one.

Every change happens here, at once and whole: columns, the owner's and the Node's books, the log, and then whoever has
to know of it.
"""

from typing import Final

from scaletest.model import Stream
from scaletest.model.latency import SignedDelay
from scaletest.ports.cluster import NO_REASON, Answer, Change, Gone, Owner, PodEvent
from scaletest.profile.world import Scheduler as Settings
from scaletest.world.sim.agenda import Agenda
from scaletest.world.sim.kinds import Kind
from scaletest.world.sim.nodes import Node
from scaletest.world.sim.pods import BOUND, GONE, SEAT_MASK, TERMINATING, WAITING, Pods, ReplicaSet
from scaletest.world.sim.scheduler import Scheduler
from scaletest.world.sim.watching import EventLog

__all__ = ["Lives"]

_ADDED: Final = Change.ADDED


class Lives:
    """The Pods of a cluster and what becomes of them."""

    def __init__(self, *, agenda: Agenda, log: EventLog, lag: SignedDelay, lags: Stream, scheduler: Settings) -> None:
        self._log = log
        self._lag = lag
        self._lags = lags
        self._removals = 0
        self._agenda = agenda
        self.pods = Pods()
        self.owners: dict[int, ReplicaSet] = {}
        self.on_ready_nodes = 0
        self.scheduler = Scheduler(
            agenda=agenda, pods=self.pods, owners=self.owners, settings=scheduler, bind=self._bind
        )

    # Appearing.

    def adopt(self, owner: Owner, kind: Kind) -> ReplicaSet:
        """Take an owner in, without Pods."""
        self.owners[owner.id] = found = ReplicaSet(owner, kind)
        return found

    def fill(self, owner: ReplicaSet, count: int) -> None:
        """Let so many Pods of an owner appear."""
        for _ in range(count):
            pod = self._seat(owner)
            self._log.add(PodEvent(Change.ADDED, pod, owner.owner.id))
            self.scheduler.submit(pod, owner)

    def place(self, owner: ReplicaSet, node: Node, count: int) -> None:
        """Let so many Pods of an owner appear on a Node: what a bind does for one, for all of them."""
        number, needs = owner.owner.id, owner.kind.needs
        if node.fits(needs) < count:
            raise ValueError(f"Node {node.name} has no room for a Pod of {owner.owner.name}")
        pods = self.pods.add_many(number, count)
        for pod in pods:
            self.pods.state[pod & SEAT_MASK] = BOUND
            self.pods.node_of[pod & SEAT_MASK] = node
        owner.pods.update(dict.fromkeys(pods))
        owner.active += count
        node.take_many(pods, needs)
        self.on_ready_nodes += count * node.ready
        if owner.placement is not None:
            owner.placement.joined(node.machine, count)
        self._log.add_all([PodEvent(_ADDED, pod, number, node.name) for pod in pods])

    def _seat(self, owner: ReplicaSet) -> int:
        pod = self.pods.add(owner.owner.id)
        owner.pods[pod] = None
        owner.active += 1
        return pod

    def _replace(self, number: int) -> None:
        """Let an owner make up for a Pod it lost, unless it has been deleted or scaled down since."""
        owner = self.owners.get(number)
        if owner is not None and owner.active < owner.owner.replicas:
            self.fill(owner, 1)

    # Being bound.

    def _bind(self, pod: int, owner: ReplicaSet, node: Node) -> None:
        self._settle(pod, owner, node)
        self._log.add(PodEvent(Change.BOUND, pod, owner.owner.id, node.name))
        self.scheduler.moved(owner)

    def _settle(self, pod: int, owner: ReplicaSet, node: Node) -> None:
        seat = pod & SEAT_MASK
        self.pods.state[seat] = BOUND
        self.pods.node_of[seat] = node
        node.take(pod, owner.kind.needs)
        self.on_ready_nodes += node.ready
        if owner.placement is not None:
            owner.placement.joined(node.machine)

    # Going.

    def remove(self, pod: int, reason: Gone) -> Answer:
        """Delete or evict a Pod; its owner replaces it after the lag, or before it is gone when the lag is negative."""
        state = self.pods.state_of(pod)
        if state in {GONE, TERMINATING}:
            return Answer.OK if state == TERMINATING else Answer.NOT_FOUND
        number = self.pods.owner_of[pod & SEAT_MASK]
        lag_us = self._draw_lag()
        # A Pod without a Node has nothing to shut down, so it never terminates for a while.
        if lag_us < 0 and self.pods.state[pod & SEAT_MASK] == BOUND:
            self._terminate(pod, self.owners[number], reason)
            self._agenda.add(self._agenda.now_us - lag_us, self._finish, pod, reason)
        else:
            self.vanish(pod, reason)
        self._replace_after(number, lag_us)
        return Answer.OK

    def lose(self, pod: int, reason: Gone) -> None:
        """Take a Pod away with its Node."""
        number, was = self.pods.owner_of[pod & SEAT_MASK], self.pods.state_of(pod)
        self.vanish(pod, reason)
        if was == BOUND:
            self._replace_after(number, self._draw_lag())

    def _draw_lag(self) -> int:
        self._removals += 1
        return self._lag.draw(self._lags, self._removals)

    def _replace_after(self, number: int, lag_us: int) -> None:
        if lag_us > 0:
            self._agenda.add(self._agenda.now_us + lag_us, self._replace, number)
        else:
            self._replace(number)

    def _terminate(self, pod: int, owner: ReplicaSet, reason: Gone) -> None:
        node = self.pods.node_of[pod & SEAT_MASK]
        assert node is not None, f"Pod {pod} is bound to no Node"
        self.pods.state[pod & SEAT_MASK] = TERMINATING
        owner.active -= 1
        self._log.add(PodEvent(Change.TERMINATING, pod, owner.owner.id, node.name, reason))
        if owner.placement is not None:
            owner.placement.leaving(node.machine)
            self.scheduler.moved(owner)

    def _finish(self, pod: int, reason: Gone) -> None:
        if self.pods.state_of(pod) == TERMINATING:  # it may have gone with its Node or its owner
            self.vanish(pod, reason)

    def vanish(self, pod: int, reason: Gone = NO_REASON) -> None:
        """Let a Pod be gone at once, with nothing in its place."""
        seat = pod & SEAT_MASK
        state, node = self.pods.state[seat], self.pods.node_of[seat]
        owner = self.owners[self.pods.owner_of[seat]]
        owner.active -= state != TERMINATING
        del owner.pods[pod]
        self.pods.remove(pod)
        self._log.add(PodEvent(Change.DELETED, pod, owner.owner.id, node.name if node else "", reason))
        if node is None:
            self.scheduler.forget(pod, owner)
        else:
            self._vacate(pod, owner, node, bound=state == BOUND)

    def _vacate(self, pod: int, owner: ReplicaSet, node: Node, *, bound: bool) -> None:
        node.give(pod, owner.kind.needs)
        self.on_ready_nodes -= node.ready
        if owner.placement is not None:
            if bound:
                owner.placement.leaving(node.machine)
            owner.placement.left(node.machine)
            self.scheduler.moved(owner)
        self.scheduler.grew(node)

    def first_to_go(self, owner: ReplicaSet, count: int) -> list[int]:
        """Return the Pods that go when an owner shrinks by so many: waiting ones first, then the youngest."""
        state = self.pods.state
        active = [pod for pod in owner.pods if state[pod & SEAT_MASK] != TERMINATING]
        return sorted(active, key=lambda pod: (state[pod & SEAT_MASK] != WAITING, -pod))[: max(0, count)]
