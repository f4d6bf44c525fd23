"""Slots: who holds which. A slot outlives its Pods; a replacement inherits the slot that its owner has vacated longest.

Columns by slot and by seat, nothing per Pod: a cluster of 25,000 Pods is a few arrays.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scaletest.ports.cluster import SEATS

__all__ = ["NOBODY", "Holding", "SlotTable"]

NOBODY: Final = -1
_GROWTH: Final = 1024
"""The column by seat grows by so many at a time."""


@dataclass(slots=True, eq=False)
class Holding:
    """One owner's slots [first, end). Those from `fresh` on were never held; `vacated` ones wait in order."""

    owner: int
    first: int
    end: int
    fresh: int = field(init=False)
    vacated: deque[int] = field(default_factory=deque)
    away: bool = False
    """The owner is scaled to nothing, or deleted: no Pod is expected in its slots."""

    def __post_init__(self) -> None:
        self.fresh = self.first

    @property
    def replicas(self) -> int:
        """Return the number of slots."""
        return self.end - self.first

    def take(self) -> int:
        """Return the slot that has been empty longest, or NOBODY."""
        if self.fresh < self.end:
            self.fresh += 1
            return self.fresh - 1
        return self.vacated.popleft() if self.vacated else NOBODY

    def empty(self) -> Iterator[int]:
        """Yield the slots without a Pod."""
        yield from range(self.fresh, self.end)
        yield from self.vacated


class SlotTable:
    """All slots of one cluster; owners are numbered as they are added."""

    def __init__(self) -> None:
        self.holdings: list[Holding] = []
        self._ends: list[int] = []
        self.pod_of: array[int] = array("q")
        self._slot_of: array[int] = array("i")
        self.held = 0
        """Slots that have a Pod."""

    def add(self, replicas: int) -> Holding:
        """Add an owner with so many slots, all of them empty."""
        first = len(self.pod_of)
        holding = Holding(len(self.holdings), first, first + replicas)
        self.holdings.append(holding)
        self._ends.append(holding.end)
        self.pod_of.extend([NOBODY] * replicas)
        return holding

    def owner_of(self, slot: int) -> int:
        """Return the owner of a slot."""
        return bisect_right(self._ends, slot)

    def slot_of(self, pod: int) -> int:
        """Return the slot that a Pod holds, or NOBODY."""
        seat = pod % SEATS
        if seat >= len(self._slot_of):
            return NOBODY
        slot = self._slot_of[seat]
        return slot if slot >= 0 and self.pod_of[slot] == pod else NOBODY

    def hold(self, slot: int, pod: int) -> None:
        """Let a Pod have an empty slot."""
        seat = pod % SEATS
        if seat >= len(self._slot_of):
            self._slot_of.extend([NOBODY] * (seat + _GROWTH - len(self._slot_of)))
        self._slot_of[seat] = slot
        self.pod_of[slot] = pod
        self.held += 1

    def release(self, slot: int, holding: Holding) -> None:
        """Take a slot from its Pod; it is now last in its owner's queue."""
        self._slot_of[self.pod_of[slot] % SEATS] = NOBODY
        self.pod_of[slot] = NOBODY
        self.held -= 1
        holding.vacated.append(slot)

    def check(self) -> None:
        """Raise AssertionError unless every slot either has its one Pod or waits once in its owner's queue."""
        held = 0
        for holding in self.holdings:
            empty = sorted(holding.empty())
            taken = [slot for slot in range(holding.first, holding.end) if self.pod_of[slot] != NOBODY]
            assert sorted([*empty, *taken]) == list(range(holding.first, holding.end)), holding
            held += len(taken)
            for slot in taken:
                assert self.slot_of(self.pod_of[slot]) == slot, (slot, self.pod_of[slot])
        assert held == self.held, (held, self.held)
        assert held == sum(slot != NOBODY for slot in self._slot_of), held
