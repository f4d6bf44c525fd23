"""Pods as columns indexed by seat, and the owners that keep them alive. There is no object per Pod."""

from array import array
from collections.abc import Sequence
from itertools import repeat
from typing import Final

from scaletest.ports.cluster import SEATS, Owner
from scaletest.world.sim.kinds import Kind, Placement
from scaletest.world.sim.nodes import Node

__all__ = ["ACKNOWLEDGED", "BOUND", "GONE", "REQUESTED", "SEAT_MASK", "TERMINATING", "WAITING", "Pods", "ReplicaSet"]

GONE: Final = 0
WAITING: Final = 1
BOUND: Final = 2
TERMINATING: Final = 3

REQUESTED: Final = 1
ACKNOWLEDGED: Final = 2

SEAT_MASK: Final = SEATS - 1


class ReplicaSet:
    """An owner with its Pods; `active` are those that are not terminating."""

    __slots__ = ("active", "kind", "owner", "placement", "pods", "rank")

    def __init__(self, owner: Owner, kind: Kind) -> None:
        self.owner = owner
        self.kind = kind
        self.placement = Placement(owner.template) if kind.keys else None
        self.rank = -owner.template.priority
        """Where its Pods stand in the scheduler's queue: lowest first."""
        self.active = 0
        self.pods: dict[int, None] = {}


class Pods:
    """The columns. A free seat has id 0 and is GONE."""

    __slots__ = ("_free", "_serial", "flags", "ids", "live", "node_of", "owner_of", "state", "tries")

    def __init__(self) -> None:
        self.ids = array("q")
        self.owner_of = array("q")
        self.node_of: list[Node | None] = []
        self.state = bytearray()
        self.flags = bytearray()
        self.tries = bytearray()
        """How often the scheduler found no Node, up to 255."""
        self.live = 0
        self._free: list[int] = []
        self._serial = 0

    def add(self, owner: int) -> int:
        """Seat a waiting Pod and return its id."""
        if self._free:
            seat = self._free.pop()
        else:
            seat = len(self.ids)
            self.ids.append(0)
            self.owner_of.append(0)
            self.node_of.append(None)
            for column in (self.state, self.flags, self.tries):
                column.append(0)
        self._serial += 1
        self.live += 1
        self.ids[seat] = pod = self._serial * SEATS + seat
        self.owner_of[seat] = owner
        self.state[seat] = WAITING
        self.flags[seat] = self.tries[seat] = 0
        return pod

    def add_many(self, owner: int, count: int) -> Sequence[int]:
        """Seat waiting Pods of one owner and return their ids; whole columns at once where no seat is free."""
        if self._free:
            return [self.add(owner) for _ in range(count)]
        seat = len(self.ids)
        first = (self._serial + 1) * SEATS + seat
        # A list: the books of owners and Nodes shall share the numbers, not have their own.
        pods = list(range(first, first + count * (SEATS + 1), SEATS + 1))
        self.ids.extend(pods)
        self.owner_of.extend(repeat(owner, count))
        self.node_of.extend(repeat(None, count))
        self.state.extend(repeat(WAITING, count))
        self.flags.extend(bytes(count))
        self.tries.extend(bytes(count))
        self._serial += count
        self.live += count
        return pods

    def remove(self, pod: int) -> None:
        """Free a Pod's seat."""
        seat = pod & SEAT_MASK
        self.ids[seat] = 0
        self.node_of[seat] = None
        self.state[seat] = GONE
        self.live -= 1
        self._free.append(seat)

    def state_of(self, pod: int) -> int:
        """Return a Pod's state; an id that was never given, or whose Pod is gone, is GONE."""
        seat = pod & SEAT_MASK
        return self.state[seat] if seat < len(self.ids) and self.ids[seat] == pod else GONE

    def seats(self) -> list[int]:
        """Return the taken seats in order."""
        return [seat for seat, pod in enumerate(self.ids) if pod]
