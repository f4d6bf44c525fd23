"""What a cluster has still to do by itself, on a clock of its own that follows the world's.

Nobody can see what happens inside a cluster but by looking: by a call, by a watch, by waiting for a Node to be empty.
So what is due is done when somebody looks, each thing at its own instant; and at its instant, while somebody waits for
it to happen. A cluster is then visited a few times a second, and not for every step of every Pod.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from scaletest.world.sim.loop import VirtualLoop

__all__ = ["NEVER_US", "Agenda"]

NEVER_US: Final = 1 << 62


class Agenda:
    """Due things in the order of their instants; at one instant, in the order they were added."""

    __slots__ = ("_added", "_armed_us", "_due", "_loop", "_waiting", "now_us")

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._due: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []
        self._added = 0
        self._waiting = 0
        self._armed_us = NEVER_US
        self.now_us = loop.now_us()
        """The cluster's own instant: that of the thing being done, and the world's once everything due is done."""

    def add(self, at_us: int, act: Callable[..., object], *args: Any) -> None:
        """Let something be done at an instant."""
        self._added += 1
        heappush(self._due, (at_us, self._added, act, args))
        if self._waiting and at_us < self._armed_us:
            self._arm()

    def catch_up(self) -> None:
        """Do everything that is due by now."""
        now_us, due = self._loop.now_us(), self._due
        while due and due[0][0] <= now_us:
            self.now_us, _, act, args = heappop(due)
            act(*args)
        self.now_us = now_us

    def wait(self) -> None:
        """Let things be done at their instants, because somebody waits for what comes of them."""
        self._waiting += 1
        self._arm()

    def wait_no_more(self, waiting: int = 1) -> None:
        """Take back what so many have asked for by `wait`."""
        self._waiting -= waiting

    def _arm(self) -> None:
        if self._due and self._due[0][0] < self._armed_us:
            self._armed_us = self._due[0][0]
            self._loop.at(self._armed_us, self._run)

    def _run(self) -> None:
        if self._loop.now_us() < self._armed_us:
            return  # a timer that an earlier one overtook
        self._armed_us = NEVER_US
        if self._waiting:
            self.catch_up()
            self._arm()
