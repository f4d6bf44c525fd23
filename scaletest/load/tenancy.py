"""Pods and slots of one cluster as the watch shows them: who takes which slot, who leaves it, and what that asks for.

Purely a reaction to what was seen; nothing here calls the cluster.
"""

from array import array
from dataclasses import dataclass
from typing import Final

from scaletest.load.churn import Churn, Sent
from scaletest.load.nodes import NodeTable
from scaletest.load.slots import NOBODY, Holding, SlotTable
from scaletest.load.timing import Identity, Requests, Why
from scaletest.ports.cluster import Change, Gone, NodeEvent, PodEvent, PodList, WatchBatch

__all__ = ["Tenancy", "Tenant"]

_NOWHERE: Final = -1
_BY_REQUEST: Final = Gone.DELETED
_LOST: Final = {Gone.DELETED: Why.DELETED, Gone.EVICTED: Why.EVICTED, Gone.NODE_LOST: Why.NODE_LOST}


@dataclass(slots=True, eq=False)
class Tenant:
    """An owner's slots, and why Pods come into those that nobody emptied."""

    holding: Holding
    cause: int
    planned_us: int
    pre_bound: int = 0
    """So many of its first slots are bound as they are created: no request."""


class Tenancy:
    """The slots of one cluster, their Pods, and the requests that come of it."""

    def __init__(self, *, slots: SlotTable, nodes: NodeTable, requests: Requests) -> None:
        self._slots, self._nodes, self._requests = slots, nodes, requests
        self._churn: Churn | None = None
        self._tenants: dict[int, Tenant] = {}
        self._node_of: array[int] = array("i")
        self._seen_us = 0
        self.reopened_us = 0
        """When the watch was last opened again; what happened before may be received after."""
        self._on = {
            Change.ADDED: self._added,
            Change.REQUESTED: self._requested,
            Change.BOUND: self._bound,
            Change.TERMINATING: self._gone,
            Change.DELETED: self._gone,
        }

    def follow(self, churn: Churn) -> None:
        """Learn who deletes Pods by plan."""
        self._churn = churn

    @property
    def live(self) -> int:
        """Return the Pods there are."""
        return self._slots.held

    def expect(self, tenant: Tenant, identity: Identity) -> None:
        """Expect an owner's Pods; those of an owner that nobody expects are not looked at."""
        self._tenants[tenant.holding.owner] = tenant
        self._requests.add(tenant.holding.replicas, identity)
        self._node_of.extend([_NOWHERE] * tenant.holding.replicas)

    def bring_back(self, owner: int, cause: int, planned_us: int) -> None:
        """Expect Pods in all slots of an owner again."""
        tenant = self._tenants[owner]
        tenant.cause, tenant.planned_us, tenant.pre_bound = cause, planned_us, 0
        tenant.holding.away = False

    def send_away(self, owner: int) -> None:
        """Expect no more Pods of an owner: what its slots ask for is withdrawn as they become empty."""
        holding = self._tenants[owner].holding
        holding.away = True
        for slot in holding.vacated:
            self._requests.withdraw(slot)

    def receive(self, batch: WatchBatch) -> None:
        """Take in what a watch shows."""
        self._seen_us = batch.received_us
        after_us = batch.after_us if batch.after_us < self.reopened_us else None
        tenants, on = self._tenants, self._on
        for node, at_us in zip(batch.nodes, batch.nodes_us, strict=True):
            self._nodes.see(node, at_us)
        for event, at_us in zip(batch.pods, batch.pods_us, strict=True):
            tenant = tenants.get(event.owner)
            if tenant is not None:
                on[event.change](event, tenant, at_us, after_us)

    def repair(self, listed: PodList, nodes: tuple[NodeEvent, ...], received_us: int) -> None:
        """Compare with a listing when a watch could not go on; whatever differs happened since the last event."""
        after_us, at_us = self._seen_us, received_us
        self._seen_us = at_us
        self._nodes.relist(nodes, at_us)
        leaving = set(listed.terminating)
        there = set(listed.pods) - leaving
        for slot, pod in enumerate(self._slots.pod_of):
            if pod != NOBODY and pod not in there:
                self._leave(slot, self._tenants[self._slots.owner_of(slot)], self._guessed_reason(slot), at_us)
        for pod, owner, node, requested in zip(
            listed.pods, listed.owner_of, listed.nodes, listed.requested, strict=True
        ):
            tenant = self._tenants.get(owner)
            if tenant is None or pod in leaving:
                continue
            if self._slots.slot_of(pod) == NOBODY:
                self._added(PodEvent(Change.ADDED, pod, owner), tenant, at_us, after_us)
            if requested:
                self._requested(PodEvent(Change.REQUESTED, pod, owner), tenant, at_us, after_us)
            if node:
                self._bound(PodEvent(Change.BOUND, pod, owner, node), tenant, at_us, after_us)

    def finish(self) -> None:
        """Write the rows of everything that still waits, also for Pods that never came."""
        for tenant in self._tenants.values():
            for slot in () if tenant.holding.away else tenant.holding.empty():
                self._open_own(tenant, slot)
        self._requests.finish()

    def check(self) -> None:
        """Raise AssertionError unless slots are conserved, and Pods counted where they are."""
        self._slots.check()
        on_nodes = [0] * (1 + max(self._node_of, default=0))
        for slot, node in enumerate(self._node_of):
            assert node == _NOWHERE or self._slots.pod_of[slot] != NOBODY, (slot, node)
            if node != _NOWHERE:
                on_nodes[node] += 1
        for number, pods in enumerate(on_nodes):
            assert not pods or self._nodes[number].pods == pods, (number, pods)

    def _added(self, event: PodEvent, tenant: Tenant, at_us: int, after_us: int | None) -> None:
        slot = tenant.holding.take()
        if slot == NOBODY:
            return  # more Pods than the owner was asked for; its controller will take one away again
        self._slots.hold(slot, event.pod)
        if not self._requests.cause[slot] and not tenant.holding.away:
            self._open_own(tenant, slot)
        if self._requests.cause[slot]:
            self._requests.appeared(slot, at_us)
        if event.node:
            self._bind(slot, event.node, tenant, at_us, after_us)

    def _open_own(self, tenant: Tenant, slot: int) -> None:
        """Open the request of a slot that its owner was to fill, unless it waits already or came bound."""
        if not self._requests.cause[slot] and slot - tenant.holding.first >= tenant.pre_bound:
            self._requests.open(slot, tenant.cause, planned_us=tenant.planned_us, sent_us=tenant.planned_us)

    def _requested(self, event: PodEvent, _tenant: Tenant, at_us: int, _after_us: int | None) -> None:
        slot = self._slots.slot_of(event.pod)
        if slot != NOBODY and self._requests.cause[slot]:
            self._requests.requested(slot, at_us)

    def _bound(self, event: PodEvent, tenant: Tenant, at_us: int, after_us: int | None) -> None:
        slot = self._slots.slot_of(event.pod)
        if slot != NOBODY and self._node_of[slot] == _NOWHERE:
            self._bind(slot, event.node, tenant, at_us, after_us)

    def _bind(self, slot: int, name: str, tenant: Tenant, at_us: int, after_us: int | None) -> None:
        node = self._nodes.bind(name)
        self._node_of[slot] = node.number
        if self._requests.cause[slot]:
            self._requests.bound(slot, tenant.holding.owner, node, at_us, after_us)

    def _gone(self, event: PodEvent, tenant: Tenant, at_us: int, _after_us: int | None) -> None:
        """Free the slot of a Pod that terminates: its replacement may come before it is quite gone."""
        slot = self._slots.slot_of(event.pod)
        if slot != NOBODY:
            self._leave(slot, tenant, event.reason, at_us)

    def _guessed_reason(self, slot: int) -> Gone:
        """Return why a Pod left unseen: the driver sent it away, or its Node went, or it was evicted."""
        if self._churn is not None and self._churn.is_sent(self._slots.pod_of[slot]):
            return Gone.DELETED
        number = self._node_of[slot]
        return Gone.NODE_LOST if number != _NOWHERE and self._nodes[number].gone else Gone.EVICTED

    def _leave(self, slot: int, tenant: Tenant, reason: Gone, at_us: int) -> None:
        sent = self._churn.claim(self._slots.pod_of[slot]) if self._churn else None
        if self._node_of[slot] != _NOWHERE:
            self._nodes.leave(self._node_of[slot])
            self._node_of[slot] = _NOWHERE
        self._slots.release(slot, tenant.holding)
        if sent is not None and reason is _BY_REQUEST and not tenant.holding.away:
            self._requests.open(slot, sent.cause, planned_us=sent.planned_us, sent_us=sent.sent_us)
        else:
            self._ask(slot, sent, reason, at_us, wanted=not tenant.holding.away)

    def _ask(self, slot: int, sent: Sent | None, reason: Gone, at_us: int, *, wanted: bool) -> None:
        """Open what a slot asks for that was not emptied by plan; if that was planned too, somebody else came first."""
        if sent is not None:
            self._requests.never(slot, "void", sent.cause, planned_us=sent.planned_us, sent_us=sent.sent_us)
        if wanted:
            self._requests.open(slot, _LOST[reason], planned_us=at_us)
        else:
            self._requests.withdraw(slot)
