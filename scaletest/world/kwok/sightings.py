"""What an API server's objects say, as events: each change of a Pod or Node is told once, however often it is seen.

Kubernetes shows whole objects; the port speaks of changes. So this remembers what of each object was told, and gives
Pods the numbers by which the program knows them.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from scaletest.ports.cluster import SEATS, Change, Gone, NodeEvent, Owner, PodEvent, PodList
from scaletest.world.kwok.objects import CREATED_KEY, MACHINE_KEY, OWNER_KEY

__all__ = ["KnownPod", "Objects", "PodNumbers", "Sightings", "owner_number"]

_BOUND: Final = 1
_REQUESTED: Final = 2
_LEAVING: Final = 4
_READY: Final = 1
_CORDONED: Final = 2
_EVICTION: Final = "EvictionByEvictionAPI"

Objects = Iterable[Mapping[str, Any]]


class KnownPod(NamedTuple):
    """A Pod that has a number."""

    number: int
    name: str
    uid: str
    owner: int


def owner_number(metadata: Mapping[str, Any]) -> int | None:
    """Return the driver's number of the workload that an object belongs to; None for what is not ours."""
    number = metadata.get("labels", {}).get(OWNER_KEY, "")
    return int(number) if number.isdigit() else None


class PodNumbers:
    """Numbers for Pods: never used twice, on seats that are."""

    def __init__(self) -> None:
        self._by_uid: dict[str, KnownPod] = {}
        self._by_number: dict[int, KnownPod] = {}
        self._free: list[int] = []
        self._made = 0
        self._readings: list[dict[str, None]] = []

    @property
    def newest(self) -> int:
        """Return the newest number."""
        return self._made * SEATS

    def of(self, metadata: Mapping[str, Any], owner: int) -> KnownPod:
        """Return a Pod's number, its first one if it has none."""
        uid = metadata["uid"]
        if (known := self._by_uid.get(uid)) is None:
            self._made += 1
            seat = self._free.pop() if self._free else len(self._by_uid)
            known = KnownPod(self._made * SEATS + seat, metadata["name"], uid, owner)
            self._by_uid[uid] = self._by_number[known.number] = known
        return known

    def with_number(self, number: int) -> KnownPod | None:
        """Return the Pod of a number, unless it is gone."""
        return self._by_number.get(number)

    def with_uid(self, uid: str) -> KnownPod | None:
        """Return the Pod of a uid, if it has a number."""
        return self._by_uid.get(uid)

    def drop(self, pod: KnownPod) -> None:
        """Forget a Pod that is gone; its seat is free again."""
        del self._by_uid[pod.uid], self._by_number[pod.number]
        self._free.append(pod.number % SEATS)
        for gone in self._readings:
            gone[pod.uid] = None

    @contextmanager
    def reading(self) -> Iterator[Mapping[str, None]]:
        """Note the Pods that go while a list is read: it may still show them, and they must not get a number again."""
        gone: dict[str, None] = {}
        self._readings.append(gone)
        try:
            yield gone
        finally:
            # By identity: two readings that noted the same are equal.
            self._readings = [each for each in self._readings if each is not gone]

    def keep(self, numbers: Mapping[int, object], *, newest: int) -> None:
        """Forget every Pod but these, and those that had no number yet when `newest` was the newest one."""
        old = (number for number in self._by_number if number // SEATS <= newest // SEATS)
        for number in [number for number in old if number not in numbers]:
            self.drop(self._by_number[number])


@dataclass(slots=True)
class Sightings:
    """What was told so far; continues from a listing, or from where another watch broke off."""

    numbers: PodNumbers
    removed: Mapping[str, bool]
    """Nodes that the provider took away, and whether they were lost: their Pods' last events must say so."""
    pods: dict[int, int] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    early: dict[str, None] = field(default_factory=dict)
    """Pods whose request was seen before the Pod: streams do not wait for one another."""

    def pod(self, kind: str, seen: Mapping[str, Any]) -> Iterable[PodEvent]:
        """Return what is new about a Pod."""
        metadata = seen["metadata"]
        if (owner := owner_number(metadata)) is None:
            return
        pod = self.numbers.of(metadata, owner)
        node = seen["spec"].get("nodeName", "")
        if kind == "DELETED":
            if self.pods.pop(pod.number, None) is not None:
                yield PodEvent(Change.DELETED, pod.number, owner, node, self._reason(seen, node))
            self.numbers.drop(pod)
            return
        told = self.pods.get(pod.number)
        if told is None:
            yield PodEvent(Change.ADDED, pod.number, owner, node)
            told = _BOUND if node else 0
            if pod.uid in self.early:
                del self.early[pod.uid]
                told |= _REQUESTED
                yield PodEvent(Change.REQUESTED, pod.number, owner)
        elif node and not told & _BOUND:
            told |= _BOUND
            yield PodEvent(Change.BOUND, pod.number, owner, node)
        if "deletionTimestamp" in metadata and not told & _LEAVING:
            told |= _LEAVING
            yield PodEvent(Change.TERMINATING, pod.number, owner, node, self._reason(seen, node))
        self.pods[pod.number] = told

    def request(self, kind: str, seen: Mapping[str, Any]) -> Iterable[PodEvent]:
        """Return what is new about a capacity request; that it went with its Pod is no news."""
        if (uid := pod_of_request(seen)) is None:
            return
        if kind == "DELETED":
            self.early.pop(uid, None)
            return
        pod = self.numbers.with_uid(uid)
        told = self.pods.get(pod.number) if pod else None
        if pod is None or told is None:
            self.early[uid] = None
        elif not told & _REQUESTED:
            self.pods[pod.number] = told | _REQUESTED
            yield PodEvent(Change.REQUESTED, pod.number, pod.owner)

    def node(self, kind: str, seen: Mapping[str, Any]) -> Iterable[NodeEvent]:
        """Return what is new about a Node."""
        if (event := _node_event(seen)) is None:
            return
        if kind == "DELETED":
            self.nodes.pop(event.node, None)
            yield event._replace(change=Change.DELETED)
            return
        told = self.nodes.get(event.node)
        cordoned = bool(seen.get("spec", {}).get("unschedulable"))
        self.nodes[event.node] = (_READY if event.ready else 0) | (_CORDONED if cordoned else 0)
        if told is None:
            yield event
            told = _READY if event.ready else 0
        if event.ready and not told & _READY:
            yield event._replace(change=Change.READY)
        if cordoned and not told & _CORDONED:
            yield event._replace(change=Change.CORDONED)

    def _reason(self, seen: Mapping[str, Any], node: str) -> Gone:
        conditions = seen.get("status", {}).get("conditions", ())
        if any(each.get("reason") == _EVICTION for each in conditions):
            return Gone.EVICTED
        if node in self.removed:
            return Gone.NODE_LOST if self.removed[node] else Gone.EVICTED
        return Gone.DELETED

    def listed(self, pods: Objects, requests: Objects, owners: Sequence[Owner], revision: int) -> PodList:
        """Return a listing in the port's words, and note it as told."""
        made = {uid: None for each in requests if (uid := pod_of_request(each)) is not None}
        self.early = dict(made)
        ids, owner_of, nodes = array("q"), array("q"), list[str]()
        requested, leaving = array("b"), array("q")
        for seen in pods:
            metadata = seen["metadata"]
            if (owner := owner_number(metadata)) is None:
                continue
            pod, node = self.numbers.of(metadata, owner), seen["spec"].get("nodeName", "")
            has_request, is_leaving = pod.uid in made, "deletionTimestamp" in metadata
            self.early.pop(pod.uid, None)
            self.pods[pod.number] = (
                (_BOUND if node else 0) | (_REQUESTED if has_request else 0) | (_LEAVING if is_leaving else 0)
            )
            ids.append(pod.number)
            owner_of.append(owner)
            nodes.append(node)
            requested.append(has_request)
            if is_leaving:
                leaving.append(pod.number)
        return PodList(revision, tuple(owners), ids, owner_of, tuple(nodes), requested, leaving)


def pod_of_request(seen: Mapping[str, Any]) -> str | None:
    """Return the uid of the Pod that a capacity request is for."""
    owners = seen["metadata"].get("ownerReferences", ())
    uid: str | None = owners[0]["uid"] if owners else None
    return uid


def _node_event(seen: Mapping[str, Any]) -> NodeEvent | None:
    """Return a Node as an ADDED event; None for one that no machine of ours is behind."""
    metadata = seen["metadata"]
    machine = metadata.get("labels", {}).get(MACHINE_KEY)
    if machine is None:
        return None
    conditions = seen.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    created_us = int(metadata.get("annotations", {}).get(CREATED_KEY, 0))
    return NodeEvent(Change.ADDED, metadata["name"], machine, ready, created_us)
