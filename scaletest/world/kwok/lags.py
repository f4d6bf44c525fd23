"""How long after a Pod is gone its replacement appears: below zero where the replacement comes first, as usual."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scaletest.ports.cluster import Change, PodEvent

__all__ = ["ReplacementLags"]

_QUANTILES: Final = {"p01": 0.01, "p10": 0.10, "p50": 0.50, "p90": 0.90, "p99": 0.99}


@dataclass(slots=True)
class _Going:
    """A Pod on its way out, and what is known of it so far."""

    gone_us: int | None = None
    replaced_us: int | None = None


class ReplacementLags:
    """Gives each Pod that goes the next Pod of its owner that comes; from `start` on."""

    def __init__(self) -> None:
        self._on = False
        self._going: dict[int, _Going] = {}
        self._unreplaced: dict[int, deque[int]] = {}
        self.lags_us: list[int] = []

    def start(self) -> None:
        """Begin to keep them: what happens while a cluster is filled says nothing about it."""
        self._on = True

    def note(self, events: Iterable[PodEvent], at_us: int) -> None:
        """Take note of what a watch shows."""
        for event in events:
            if event.change is Change.TERMINATING:
                self._goes(event)
            elif event.change is Change.DELETED:
                self._goes(event).gone_us = at_us
                self._settle(event.pod)
            elif event.change is Change.ADDED and (waiting := self._unreplaced.get(event.owner)):
                pod = waiting.popleft()
                self._going[pod].replaced_us = at_us
                self._settle(pod)

    def _goes(self, event: PodEvent) -> _Going:
        """Return what is known of a Pod that goes; one that has never been seen to terminate goes now."""
        if event.pod not in self._going:
            self._going[event.pod] = _Going()
            self._unreplaced.setdefault(event.owner, deque()).append(event.pod)
        return self._going[event.pod]

    def _settle(self, pod: int) -> None:
        going = self._going[pod]
        if going.gone_us is not None and going.replaced_us is not None:
            if self._on:
                self.lags_us.append(going.replaced_us - going.gone_us)
            del self._going[pod]

    def summary(self) -> dict[str, int]:
        """Return how many there were, and their quantiles in microseconds (nearest rank)."""
        ordered = sorted(self.lags_us)
        found = {"count": len(ordered)}
        for name, share in _QUANTILES.items() if ordered else ():
            found[f"{name}_us"] = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
        return found
