"""What one component has still to do: any number of due things behind one timer of the loop."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from scaletest.world.sim.loop import VirtualLoop

__all__ = ["NEVER_US", "Agenda"]

NEVER_US: Final = 1 << 62


class Agenda:
    """Due things in the order of their instants; at one instant, in the order they were added."""

    __slots__ = ("_added", "_armed_us", "_due", "_loop")

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._due: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []
        self._added = 0
        self._armed_us = NEVER_US

    def add(self, at_us: int, act: Callable[..., object], *args: Any) -> None:
        """Let something be done at an instant."""
        self._added += 1
        heappush(self._due, (at_us, self._added, act, args))
        if at_us < self._armed_us:
            self._arm(at_us)

    def _arm(self, at_us: int) -> None:
        self._armed_us = at_us
        self._loop.at(at_us, self._run)

    def _run(self) -> None:
        now, due = self._loop.now_us(), self._due
        if now < self._armed_us:
            return  # a timer that an earlier one overtook; what it was for is done
        self._armed_us = NEVER_US
        while due and due[0][0] <= now:
            _, _, act, args = heappop(due)
            act(*args)
        if due and due[0][0] < self._armed_us:
            self._arm(due[0][0])
