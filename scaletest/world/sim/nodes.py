"""One Node: its machine, the Pods on it and the room that is left."""

import asyncio
from typing import TYPE_CHECKING

from scaletest.model import Machine
from scaletest.ports.cluster import Change, NodeEvent
from scaletest.world.sim.agenda import NEVER_US

if TYPE_CHECKING:
    from scaletest.world.sim.kinds import Domain

__all__ = ["Needs", "Node"]

Needs = tuple[tuple[str, int], ...]
"""What one Pod asks for, by resource."""


class Node:
    """A Node. It is `open` while the scheduler may use it: Ready, not cordoned, not removed."""

    __slots__ = (
        "armed_us",
        "cordoned",
        "created_us",
        "domains",
        "empty",
        "free",
        "machine",
        "name",
        "offered",
        "open",
        "pods",
        "ready",
        "slots",
    )

    def __init__(self, name: str, machine: Machine, *, created_us: int, max_pods: int) -> None:
        self.name = name
        self.machine = machine
        self.created_us = created_us
        self.ready = self.cordoned = self.open = False
        self.free = dict(machine.allocatable)
        self.slots = max_pods
        self.pods: dict[int, None] = {}
        self.domains: list[Domain] = []
        self.empty: list[asyncio.Future[None]] = []
        """Who waits for the last Pod to go."""
        self.offered = False
        """A Pod that was woken for this Node's room is still to be tried."""
        self.armed_us = NEVER_US
        """When the back-off of a Pod that could use the room ends."""

    def fits(self, needs: Needs) -> int:
        """Return how many more such Pods the Node has room for."""
        count, free = self.slots, self.free
        for name, amount in needs:
            have = free.get(name, 0)
            if have < amount * count:
                count = have // amount
        return count

    def room(self, needs: Needs) -> int:
        """Return how many more such Pods the scheduler may put here."""
        return self.fits(needs) if self.open else 0

    def take(self, pod: int, needs: Needs) -> None:
        """Put a Pod on the Node."""
        self.pods[pod] = None
        self.slots -= 1
        for name, amount in needs:
            self.free[name] -= amount

    def give(self, pod: int, needs: Needs) -> None:
        """Take a Pod off the Node; tell those who wait for the last one."""
        del self.pods[pod]
        self.slots += 1
        for name, amount in needs:
            self.free[name] += amount
        if self.empty and not self.pods:
            self.tell_empty()

    def tell_empty(self) -> None:
        """Wake those who wait for the Node to be empty."""
        for future in self.empty:
            if not future.done():
                future.set_result(None)
        self.empty.clear()

    def event(self, change: Change) -> NodeEvent:
        """Return the Node as an event of a change."""
        return NodeEvent(change, self.name, self.machine.id, self.ready, self.created_us)
