"""One Node: its machine, the Pods on it and the room that is left."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from zlib import crc32

from scaletest.model import Machine
from scaletest.ports.cluster import Change, NodeEvent
from scaletest.world.sim.agenda import NEVER_US

if TYPE_CHECKING:
    from scaletest.world.sim.kinds import Domain

__all__ = ["Needs", "Node"]

_SCORED: Final = ("cpu", "memory")

Needs = tuple[tuple[str, int], ...]
"""What one Pod asks for, by resource."""


@dataclass(slots=True, eq=False)
class Node:
    """A Node. It is `open` while the scheduler may use it: Ready, not cordoned, not removed."""

    name: str
    machine: Machine
    created_us: int
    slots: int
    """How many more Pods it takes, whatever their size."""
    ready: bool = False
    cordoned: bool = False
    open: bool = False
    free: dict[str, int] = field(init=False)
    scored: Needs = field(init=False)
    """What emptiness is measured in: cpu and memory, or whatever there is."""
    _emptiness: int = 0
    """The score of a Pod that has room, until a Pod comes or goes; then 0."""
    pods: dict[int, None] = field(default_factory=dict)
    domains: "list[Domain]" = field(default_factory=list)
    empty: list[asyncio.Future[None]] = field(default_factory=list)
    """Who waits for the last Pod to go."""
    promised: int = 0
    """The Pod that was woken for this Node's room and is still to be tried."""
    mark: int = field(init=False)
    """A number of its name, from which its place among equals is worked out."""
    armed_us: int = NEVER_US
    """When the back-off of a Pod that could use the room ends."""

    def __post_init__(self) -> None:
        whole = self.machine.allocatable.amounts
        self.free = dict(whole)
        self.mark = crc32(self.name.encode())
        self.scored = tuple(pair for pair in whole if pair[0] in _SCORED) or whole

    def fits(self, needs: Needs) -> int:
        """Return how many more such Pods the Node has room for."""
        count, free = self.slots, self.free
        for name, amount in needs:
            have = free.get(name, 0)
            if have < amount * count:
                count = have // amount
        return count

    def score(self, needs: Needs) -> int:
        """Return how empty the Node is for a Pod: 1 and the percent of cpu and memory left, 0 without room for it."""
        free = self.free
        if not self.open or self.slots < 1:
            return 0
        for name, amount in needs:
            if free.get(name, 0) < amount:
                return 0
        # A change of room is followed by a score for every domain of the Node.
        emptiness = self._emptiness
        if not emptiness:
            shares = [free[name] * 100 // whole for name, whole in self.scored]
            emptiness = self._emptiness = 1 + sum(shares) // len(shares)
        return emptiness

    def room(self, needs: Needs) -> int:
        """Return how many more such Pods the scheduler may put here."""
        return self.fits(needs) if self.open else 0

    def take(self, pod: int, needs: Needs) -> None:
        """Put a Pod on the Node."""
        self.pods[pod] = None
        self.slots -= 1
        self._emptiness = 0
        for name, amount in needs:
            self.free[name] -= amount

    def take_many(self, pods: Sequence[int], needs: Needs) -> None:
        """Put equal Pods on the Node."""
        self.pods.update(dict.fromkeys(pods))
        self.slots -= len(pods)
        self._emptiness = 0
        for name, amount in needs:
            self.free[name] -= amount * len(pods)

    def give(self, pod: int, needs: Needs) -> None:
        """Take a Pod off the Node; tell those who wait for the last one."""
        del self.pods[pod]
        self.slots += 1
        self._emptiness = 0
        for name, amount in needs:
            self.free[name] += amount
        if self.empty and not self.pods:
            for future in self.empty:
                if not future.done():
                    future.set_result(None)
            self.empty.clear()

    def event(self, change: Change) -> NodeEvent:
        """Return the Node as an event of a change."""
        return NodeEvent(change, self.name, self.machine.id, self.ready, self.created_us)
