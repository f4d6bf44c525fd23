"""The scheduler's queue: one attempt at a time, back-off, and a second try when there is room that could help.

A Pod that finds no Node is parked in the line of each domain that its owner's rules leave it. Room that appears on a
Node wakes one Pod, the first of all lines that lead there; when that one has been tried the Node is offered again. So a
freed slot costs the same whether ten Pods wait or ten thousand, and no room is left over while a Pod waits for it.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush

from scaletest.model import US_PER_SECOND, microseconds
from scaletest.profile.world import Scheduler as Settings
from scaletest.world.sim.agenda import NEVER_US, Agenda
from scaletest.world.sim.kinds import Domain, Kind
from scaletest.world.sim.nodes import Node
from scaletest.world.sim.pods import SEAT_MASK, WAITING, Pods, ReplicaSet

__all__ = ["Scheduler"]

_TRIES_COUNTED = 255


class Scheduler:
    """Binds waiting Pods through `bind`, by priority and then by age."""

    def __init__(
        self,
        *,
        agenda: Agenda,
        pods: Pods,
        owners: Mapping[int, ReplicaSet],
        settings: Settings,
        bind: Callable[[int, ReplicaSet, Node], None],
    ) -> None:
        self._agenda = agenda
        self._pods = pods
        self._owners = owners
        self._bind = bind
        self._attempt_us = max(1, round(US_PER_SECOND / settings.binds_per_second))
        self._first_wait_us = microseconds(settings.backoff_initial_seconds)
        self._longest_wait_us = microseconds(settings.backoff_max_seconds)
        self._queue: list[tuple[int, int]] = []
        self._busy = False
        self._parked: dict[int, int] = {}
        self._woken_for: dict[int, Node] = {}

    # What the cluster tells it.

    def submit(self, pod: int, owner: ReplicaSet) -> None:
        """Queue a new Pod."""
        heappush(self._queue, (owner.rank, pod))
        self._start()

    def forget(self, pod: int, owner: ReplicaSet) -> None:
        """Let go of a waiting Pod that was deleted; its place in queue and lines is skipped when it comes up."""
        self._parked.pop(pod, None)
        if owner.placement is not None and owner.placement.parked:
            owner.placement.parked.pop(pod, None)
            self._expose(owner)
            self._start()

    def grew(self, node: Node) -> None:
        """Take note that a Node has more room, or has become usable."""
        if node.open:
            for domain in node.domains:
                domain.grew(node)
            self._offer(node)
            self._start()

    def moved(self, owner: ReplicaSet) -> None:
        """Take note that an owner with rules has its Pods elsewhere than before."""
        if owner.placement is not None and owner.placement.parked:
            self._expose(owner)
            self._start()

    def redrawn(self, kind: Kind) -> None:
        """Take note that a kind has other domains than before."""
        for owner in list(kind.waiting.values()):
            self._expose(owner)
        self._start()

    # One attempt after the other.

    def _start(self) -> None:
        """Begin with the first Pod of the queue; its attempt ends after its time."""
        while self._queue and not self._busy:
            pod = heappop(self._queue)[1]
            if self._pods.state_of(pod) == WAITING:
                self._busy = True
                self._agenda.add(self._agenda.now_us + self._attempt_us, self._attempt, pod)
            else:
                self._tried(pod)

    def _attempt(self, pod: int) -> None:
        if self._pods.state_of(pod) == WAITING:
            owner = self._owner_of(pod)
            node = owner.kind.choose(owner.placement)
            if node is None:
                self._park(pod, owner)
            else:
                self._bind(pod, owner, node)
                self._pass_on(pod, owner, node)
        self._tried(pod)
        self._busy = False
        self._start()

    def _tried(self, pod: int) -> None:
        """Offer the Node again that a Pod was woken for, whatever became of the Pod."""
        if self._woken_for and (node := self._woken_for.pop(pod, None)) is not None:
            node.promised = 0
            self._offer(node)

    def _pass_on(self, pod: int, owner: ReplicaSet, node: Node) -> None:
        """Let a Pod that lost its promised room to this one have the room that this one was promised."""
        other = node.promised
        if other in {0, pod} or pod not in self._woken_for:
            return
        if self._pods.state_of(other) == WAITING and self._owner_of(other).kind is owner.kind:
            promised = self._woken_for[pod]
            self._woken_for[pod], self._woken_for[other] = node, promised
            node.promised, promised.promised = pod, other

    # Waiting for room.

    def _park(self, pod: int, owner: ReplicaSet) -> None:
        seat = pod & SEAT_MASK
        tries = self._pods.tries[seat]
        self._pods.tries[seat] = min(tries + 1, _TRIES_COUNTED)
        self._parked[pod] = self._agenda.now_us + min(self._first_wait_us << min(tries, 32), self._longest_wait_us)
        if owner.placement is None:
            owner.kind.domains[()].park(owner.rank, pod, self._parked)
        else:
            owner.placement.parked[pod] = None
            owner.kind.waiting[owner.owner.id] = owner
            self._expose(owner)

    def _expose(self, owner: ReplicaSet) -> None:
        """Let an owner's first parked Pod, and through it the others, wait where its rules allow now."""
        kind, placement = owner.kind, owner.placement
        assert placement is not None
        if not placement.parked:
            kind.waiting.pop(owner.owner.id, None)
            return
        pod = next(iter(placement.parked))
        until_us = self._parked[pod]
        if kind.choose(placement) is None:
            for domain in placement.allowed(kind.domains.values()):
                domain.park(owner.rank, pod, self._parked)
        elif until_us <= self._agenda.now_us:
            self._wake(pod, owner)
        elif until_us < placement.armed_us:
            placement.armed_us = until_us
            self._agenda.add(until_us, self._expose_again, owner)

    def _expose_again(self, owner: ReplicaSet) -> None:
        assert owner.placement is not None
        owner.placement.armed_us = NEVER_US
        self.moved(owner)

    def _wake(self, pod: int, owner: ReplicaSet) -> None:
        until_us = self._parked.pop(pod)
        assert until_us <= self._agenda.now_us, f"Pod {pod} is woken before its back-off ends"
        if owner.placement is not None:
            owner.placement.parked.pop(pod, None)
        heappush(self._queue, (owner.rank, pod))

    def _offer(self, node: Node) -> None:
        """Wake the first of those who could use a Node, or come back when a back-off ends."""
        if not self._parked or node.promised or not node.open:
            return
        best, next_us = None, NEVER_US
        for domain in node.domains:
            if domain.waiting and node.room(domain.needs):
                head = self._head(domain)
                if head is not None and (best is None or head < best):
                    best = head
                next_us = min(next_us, domain.next_us)
        if best is not None:
            pod = best[1]
            self._wake(pod, self._owner_of(pod))
            self._woken_for[pod] = node
            node.promised = pod
        elif next_us < node.armed_us:
            node.armed_us = next_us
            self._agenda.add(next_us, self._offer_again, node)

    def _offer_again(self, node: Node) -> None:
        node.armed_us = NEVER_US
        self._offer(node)
        self._start()

    def _head(self, domain: Domain) -> tuple[int, int] | None:
        """Return the first in a domain's line whose owner may use it; the others come back when their owners move."""
        while (head := domain.head(self._agenda.now_us, self._parked)) is not None:
            owner = self._owner_of(head[1])
            placement = owner.placement
            if placement is None or domain in placement.allowed(owner.kind.domains.values()):
                return head
            domain.drop_head()
        return None

    def _owner_of(self, pod: int) -> ReplicaSet:
        return self._owners[self._pods.owner_of[pod & SEAT_MASK]]
