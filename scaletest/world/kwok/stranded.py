"""Pods on Nodes that are gone: nobody finishes deleting them, and they look bound to capacity that is not there."""

from collections import Counter
from collections.abc import Iterable, Mapping

from scaletest.ports.cluster import Change, NodeEvent, PodEvent

__all__ = ["StrandedPods"]


class StrandedPods:
    """Notes for how long Pods outlived their Node, by what a watch shows. A Node's name is never used again."""

    def __init__(self) -> None:
        self._pods: Counter[str] = Counter()
        self._gone_us: dict[str, int] = {}
        self._longest_us = 0

    def note_nodes(self, events: Iterable[NodeEvent], at_us: int) -> None:
        """Take note of Nodes that go."""
        for event in events:
            if event.change is Change.DELETED:
                self._gone_us[event.node] = at_us

    def note_pods(self, events: Iterable[PodEvent], at_us: int) -> None:
        """Take note of Pods that are bound, and of Pods that are gone."""
        for event in events:
            if event.node and event.change in {Change.ADDED, Change.BOUND}:
                self._pods[event.node] += 1
            elif event.node and event.change is Change.DELETED:
                self._pods[event.node] -= 1
                self._longest_us = max(self._longest_us, at_us - self._gone_us.get(event.node, at_us))

    def listed(self, pods: Mapping[str, int], nodes: Iterable[str], at_us: int) -> None:
        """Begin anew from a listing: so many Pods on each Node. A Node that is missing is gone from now on."""
        self._pods = Counter(pods)
        there = dict.fromkeys(nodes)
        for node in pods:
            if node not in there:
                self._gone_us.setdefault(node, at_us)

    def longest_us(self, now_us: int) -> int:
        """Return the longest time that a Pod has stood on a Node that was gone, until it went or until now."""
        waiting = (now_us - gone_us for node, gone_us in self._gone_us.items() if self._pods[node] > 0)
        return max(self._longest_us, *waiting, 0)
