"""The Nodes of one cluster as the driver's watch shows them, and how many Pods are bound to Ready ones."""

from collections.abc import Iterable
from dataclasses import dataclass

from scaletest.ports.cluster import Change, NodeEvent

__all__ = ["NodeTable", "SeenNode"]


@dataclass(slots=True, eq=False)
class SeenNode:
    """A Node; `number` stays its own for the whole run, so that a column of numbers can say where Pods are."""

    number: int
    machine: str = ""
    created_us: int = 0
    ready_us: int | None = None
    pods: int = 0
    gone: bool = False


class NodeTable:
    """Every Node there is, by name, and every one there ever was, by number."""

    def __init__(self) -> None:
        self._there: dict[str, SeenNode] = {}
        self._ever: list[SeenNode] = []
        self.bound_ready = 0
        """Pods that are bound to a Ready Node."""

    def __getitem__(self, number: int) -> SeenNode:
        return self._ever[number]

    def names_by_machine(self) -> dict[str, str]:
        """Return the Nodes' names by machine id."""
        return {node.machine: name for name, node in self._there.items()}

    def see(self, event: NodeEvent, at_us: int) -> None:
        """Take in one change; what was seen before changes nothing."""
        if event.change is Change.DELETED:
            if (gone := self._there.pop(event.node, None)) is not None:
                self._lose(gone)
            return
        node = self._node(event.node)
        node.machine, node.created_us = event.machine, event.created_us or node.created_us
        if node.ready_us is None and (event.ready or event.change is Change.READY):
            node.ready_us = at_us
            self.bound_ready += node.pods

    def relist(self, listed: Iterable[NodeEvent], at_us: int) -> None:
        """Take in all Nodes there are; what is not among them is gone."""
        events = {event.node: event for event in listed}
        for name in [name for name in self._there if name not in events]:
            self._lose(self._there.pop(name))
        for event in events.values():
            self.see(event, at_us)

    def bind(self, name: str) -> SeenNode:
        """Count a Pod that is bound to a Node, seen or not yet seen."""
        node = self._there.get(name) or self._node(name)
        node.pods += 1
        if node.ready_us is not None:
            self.bound_ready += 1
        return node

    def leave(self, number: int) -> None:
        """Count a Pod that is no longer on its Node."""
        node = self._ever[number]
        node.pods -= 1
        if node.ready_us is not None:
            self.bound_ready -= 1

    def _node(self, name: str) -> SeenNode:
        if (node := self._there.get(name)) is None:
            node = self._there[name] = SeenNode(len(self._ever))
            self._ever.append(node)
        return node

    def _lose(self, node: SeenNode) -> None:
        node.gone = True
        if node.ready_us is not None:
            self.bound_ready -= node.pods
            node.ready_us = None
