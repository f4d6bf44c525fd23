"""How long after a Pod is gone its replacement appears: below zero where the replacement comes first, as usual."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from scaletest.ports.cluster import Change, PodEvent

__all__ = ["ReplacementLags"]

_QUANTILES: Final = {"p01": 0.01, "p10": 0.10, "p50": 0.50, "p90": 0.90, "p99": 0.99}


class ReplacementLags:
    """Pairs Pods that go with Pods that come, owner by owner, first with first; from `start` on."""

    def __init__(self) -> None:
        self._on = False
        self._waiting: dict[int, deque[int]] = {}
        """Per owner the instants that have no counterpart yet: all of them of the same kind."""
        self._came_first: dict[int, bool] = {}
        self.lags_us: list[int] = []

    def start(self) -> None:
        """Begin: before, Pods come without one going."""
        self._on = True

    def note(self, events: Iterable[PodEvent], at_us: int) -> None:
        """Take note of what a watch shows."""
        for event in events if self._on else ():
            if event.change in (Change.ADDED, Change.DELETED):
                self._note(event.owner, at_us, came=event.change is Change.ADDED)

    def _note(self, owner: int, at_us: int, *, came: bool) -> None:
        waiting = self._waiting.setdefault(owner, deque())
        if waiting and self._came_first[owner] is not came:
            other_us = waiting.popleft()
            self.lags_us.append(at_us - other_us if came else other_us - at_us)
        else:
            self._came_first[owner] = came
            waiting.append(at_us)

    def summary(self) -> dict[str, int]:
        """Return how many there were, and their quantiles in microseconds (nearest rank)."""
        ordered = sorted(self.lags_us)
        found = {"count": len(ordered)}
        for name, share in _QUANTILES.items() if ordered else ():
            found[f"{name}_us"] = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
        return found
