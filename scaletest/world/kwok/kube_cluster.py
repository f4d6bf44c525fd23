"""A real cluster behind the ports Cluster and Nodes: an API server is asked, controllers and kwok do the rest.

One reader per object: the driver and the engine's agent each have their own, as they would in processes of their own.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

import orjson

from scaletest.model import US_PER_SECOND, Machine
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Answer, NodeEvent, Owner, PodList
from scaletest.world.kwok.api import ApiError, ApiServer, Call
from scaletest.world.kwok.kube_watch import KubeWatch, Position, Stream
from scaletest.world.kwok.lags import ReplacementLags
from scaletest.world.kwok.objects import (
    NAMESPACE,
    REQUEST_API,
    node,
    owner_from,
    placed_pod,
    replica_set,
    request,
    started,
)
from scaletest.world.kwok.sightings import KnownPod, PodNumbers, Sightings, owner_number
from scaletest.world.kwok.stranded import StrandedPods

__all__ = ["KubeCluster"]

_PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_NODES: Final = "/api/v1/nodes"
_OWNERS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
_REQUESTS: Final = f"/apis/{REQUEST_API}/namespaces/{NAMESPACE}/capacityrequests"
_JSON: Final = "application/json"
_MERGE: Final = "application/merge-patch+json"
_LOOK_US: Final = US_PER_SECOND
"""How often a Node that is being emptied is looked at."""
_AGAIN_US: Final = US_PER_SECOND
_READ_TRIES: Final = 5
_LISTINGS_KEPT: Final = 3
"""Lists are also made for their own sake; whoever means to watch from one does so soon."""
_BATCHES_EACH: Final = 1 << 32
"""Revisions from one listing to the next; a watch takes one for every batch."""
_TROUBLE: Final = (Answer.TIMEOUT, Answer.UNAVAILABLE)
_CORDON: Final = b'{"spec":{"unschedulable":true}}'
_NOW: Final = b'{"gracePeriodSeconds":0}'
_ACKNOWLEDGED: Final = b'{"status":{"phase":"Acknowledged"}}'


class KubeCluster:
    """One cluster as one process sees it. `max_pods` is what a Node takes, whatever their size.

    Who makes all requests himself knows of them, and need not be shown what he did.
    """

    def __init__(
        self, name: str, *, api: ApiServer, clock: Clock, max_pods: int, watches_requests: bool = True
    ) -> None:
        self._name, self._api, self._clock, self._max_pods = name, api, clock, max_pods
        self._watches_requests = watches_requests
        self.lags = ReplacementLags()
        self.stranded = StrandedPods()
        self._numbers = PodNumbers()
        self._removed: dict[str, bool] = {}
        self._owners: dict[int, Owner] = {}
        self._revisions = count(_BATCHES_EACH, _BATCHES_EACH)
        self._listed: dict[int, Position] = {}
        self._nodes_listed: tuple[int, dict[str, int]] = (0, {})
        self._watched: Position | None = None
        self._request_parts: dict[int, tuple[bytes, bytes, bytes, bytes]] = {}

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return self._name

    # Reading.

    async def list(self) -> PodList:
        """List Pods and owners."""
        with self._numbers.reading() as gone:
            pods = await self._read(_PODS)
            owners, requests = await asyncio.gather(self._learn_owners(), self._read(_REQUESTS, metadata=True))
        there = [each for each in pods["items"] or () if each["metadata"]["uid"] not in gone]
        revision, seen = next(self._revisions), _revision(pods)
        requested = Stream(_REQUESTS, revision=_revision(requests), metadata=True)
        told = Sightings(self._numbers, self._removed)
        listing = told.listed(there, requests["items"] or (), owners, revision)
        self._listed[revision] = Position(
            revision,
            pods=Stream(_PODS, revision=seen),
            nodes=Stream(_NODES, revision=seen),
            requests=requested if self._watches_requests else None,
            sightings=told,
            seen_us=self._clock.now_us(),
            newest=self._numbers.newest,
            placed=Counter(filter(None, listing.nodes)),
        )
        if len(self._listed) > _LISTINGS_KEPT:
            del self._listed[min(self._listed)]
        return listing

    async def _learn_owners(self) -> tuple[Owner, ...]:
        """List owners, and remember them: calls for their Pods need them, also when they are gone from later lists."""
        found = await self._read(_OWNERS)
        owners = tuple(owner for each in found["items"] or () if (owner := owner_from(each)) is not None)
        self._owners.update((owner.id, owner) for owner in owners)
        return owners

    async def list_nodes(self) -> tuple[int, tuple[NodeEvent, ...]]:
        """List Nodes as ADDED events, with their revision; a watch from the list of Pods before tells what follows."""
        found = await self._read(_NODES)
        told = Sightings(self._numbers, self._removed)
        events = [event for each in found["items"] or () for event in list(told.node("ADDED", each))[:1]]
        self._nodes_listed = (_revision(found), told.nodes)
        return _revision(found), tuple(events)

    def watch(self, revision: int) -> KubeWatch:
        """Watch from a listing, or from where the last watch broke off."""
        if self._watched is None or self._watched.revision != revision:
            self._watched = self._begun(revision)
        self._listed.clear()
        return KubeWatch(self._api, self._clock, self._watched, lags=self.lags, stranded=self.stranded)

    def _begun(self, revision: int) -> Position:
        """Return the position of a listing. Nodes that were listed after the Pods are known to whoever watches."""
        if revision not in self._listed:
            raise ValueError(f"{revision} is neither a late listing's revision nor the last one watched")
        position, (nodes_revision, nodes) = self._listed[revision], self._nodes_listed
        if nodes_revision >= position.pods.revision:
            position.nodes.revision, position.sightings.nodes = nodes_revision, dict(nodes)
            self.stranded.listed(position.placed, nodes, self._clock.now_us())
        self._numbers.keep(position.sightings.pods, newest=position.newest)
        return position

    async def pods_on(self, node: str) -> Sequence[int]:
        """List the Pods of a Node, terminating ones included."""
        return [pod.number for pod in await self._known_on(node)]

    async def _known_on(self, node: str) -> Sequence[KnownPod]:
        with self._numbers.reading() as gone:
            found = await self._read(f"{_PODS}?fieldSelector=spec.nodeName%3D{node}", metadata=True)
        metadata = [each["metadata"] for each in found["items"] or () if each["metadata"]["uid"] not in gone]
        return [self._numbers.of(each, owner) for each in metadata if (owner := owner_number(each)) is not None]

    async def _read(self, path: str, *, metadata: bool = False) -> dict[str, Any]:
        """Read, and try again a few times: an API server that is busy answers a little later."""
        for _ in range(_READ_TRIES - 1):
            try:
                return await self._api.get(path, metadata=metadata)
            except ApiError:
                await self._pause(_AGAIN_US)
        return await self._api.get(path, metadata=metadata)

    # Owners.

    async def create_owners(self, owners: Sequence[Owner], nodes: Sequence[Sequence[str]] = ()) -> Sequence[Answer]:
        """Create owners; the Pods that have a place are created with it, the others are their controller's affair."""
        places = [nodes[n] if n < len(nodes) else () for n in range(len(owners))]
        return await asyncio.gather(*(self._create(owner, on) for owner, on in zip(owners, places, strict=True)))

    async def _create(self, owner: Owner, nodes: Sequence[str]) -> Answer:
        self._owners[owner.id] = owner
        answer, body = await self._api.send(Call("POST", _OWNERS, orjson.dumps(replica_set(owner))))
        if answer is Answer.CONFLICT and nodes:
            # An earlier call made it and its answer got lost; the Pods may be missing.
            body = orjson.dumps(await self._read(f"{_OWNERS}/{owner.name}"))
        elif answer is not Answer.OK or not nodes:
            return answer
        before, between, after = placed_pod(owner, orjson.loads(body)["metadata"]["uid"])
        placed = ((f"{owner.name}-{k}", on) for k, on in enumerate(nodes))
        answers = await asyncio.gather(
            *(self._place(name, b"".join((before, name.encode(), between, on.encode(), after))) for name, on in placed)
        )
        return next((each for each in answers if each in _TROUBLE), answer)

    async def _place(self, name: str, body: bytes) -> Answer:
        """Create a Pod on its Node, and start it."""
        answer, _ = await self._api.send(Call("POST", _PODS, body))
        if answer in _TROUBLE:
            return answer
        # A conflict means that an earlier try did reach the server.
        answer, _ = await self._api.send(Call("PATCH", f"{_PODS}/{name}/status", started(datetime.now(UTC)), _MERGE))
        return answer

    async def scale(self, owner: int, replicas: int) -> Answer:
        """Change how many Pods an owner has."""
        body = orjson.dumps({"spec": {"replicas": replicas}})
        (answer,) = await self._send([self._to_owner("PATCH", owner, body)])
        return answer

    async def delete_owners(self, owners: Sequence[int]) -> Sequence[Answer]:
        """Delete owners; their Pods are collected after them."""
        body = b'{"propagationPolicy":"Background"}'
        return await self._send([self._to_owner("DELETE", owner, body) for owner in owners])

    def _to_owner(self, method: str, number: int, body: bytes) -> Call | None:
        if (owner := self._owners.get(number)) is None:
            return None
        return Call(method, f"{_OWNERS}/{owner.name}", body, _MERGE if method == "PATCH" else _JSON)

    # Pods and their requests.

    async def delete_pods(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Delete Pods; the uid is the precondition."""
        return await self._each(pods, lambda pod: Call("DELETE", f"{_PODS}/{pod.name}", _if_uid(pod)))

    async def evict(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Evict Pods."""
        return await self._each(pods, _eviction)

    async def create_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Make the capacity requests of Pods; each belongs to its Pod and is collected with it."""
        known = [pod for number in pods if (pod := self._numbers.with_number(number)) is not None]
        if any(pod.owner not in self._owners for pod in known):
            # A watch shows Pods, not what they ask for. An owner that is still not there has gone, and they will.
            await self._learn_owners()
        return await self._each(pods, self._request)

    async def acknowledge_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Mark capacity requests as seen by the engine."""
        return await self._each(
            pods, lambda pod: Call("PATCH", f"{_REQUESTS}/{pod.name}/status", _ACKNOWLEDGED, _MERGE)
        )

    def _request(self, pod: KnownPod) -> Call | None:
        parts = self._request_parts.get(pod.owner)
        if parts is None:
            if pod.owner not in self._owners:
                return None
            parts = self._request_parts[pod.owner] = request(self._owners[pod.owner])
        name = pod.name.encode()
        return Call("POST", _REQUESTS, b"".join((parts[0], name, parts[1], name, parts[2], pod.uid.encode(), parts[3])))

    async def _each(self, pods: Sequence[int], call: Callable[[KnownPod], Call | None]) -> Sequence[Answer]:
        """Make a call for each Pod that is still known; one that is gone is not found."""
        known = map(self._numbers.with_number, pods)
        return await self._send([call(pod) if pod is not None else None for pod in known])

    async def _send(self, calls: Sequence[Call | None]) -> Sequence[Answer]:
        """Make calls; there is none for what nobody knows, and that is not found."""
        answers = iter(await self._api.send_all([call for call in calls if call is not None]))
        return [Answer.NOT_FOUND if call is None else next(answers) for call in calls]

    async def cordon(self, node: str) -> Answer:
        """Let no further Pod bind to a Node."""
        answer, _ = await self._api.send(Call("PATCH", f"{_NODES}/{node}", _CORDON, _MERGE))
        return answer

    # The Nodes port.

    async def add_node(self, name: str, machine: Machine) -> None:
        """Let a machine join; kwok makes it Ready."""
        body = orjson.dumps(node(name, machine, max_pods=self._max_pods, now_us=self._clock.now_us()))
        # A conflict means that an earlier try did reach the server.
        await self._insist(Call("POST", _NODES, body))

    async def drained(self, name: str, *, until_us: int) -> bool:
        """Wait until a fresh list shows no Pod on a Node, at most until an instant."""
        while await self._known_on(name):
            now_us = self._clock.now_us()
            if now_us >= until_us:
                return False
            await self._clock.sleep_until(min(now_us + _LOOK_US, until_us))
        return True

    async def remove_node(self, name: str, *, lost: bool = False) -> None:
        """Take a Node away and then its Pods: nobody else would soon finish deleting Pods of a Node that is gone."""
        self._removed[name] = lost
        await self._insist(Call("DELETE", f"{_NODES}/{name}", _NOW))
        # The scheduler may not have heard of a loss yet, and bind Pods here a moment longer.
        look_again = lost
        while await self._clear(name) or look_again:
            look_again = False
            await self._pause(_LOOK_US)

    async def _clear(self, name: str) -> bool:
        """Delete the Pods of a Node; say whether there were any."""
        pods = await self._known_on(name)
        await asyncio.gather(*(self._insist(Call("DELETE", f"{_PODS}/{pod.name}", _NOW)) for pod in pods))
        return bool(pods)

    async def _insist(self, call: Call) -> None:
        """Make a call until the server has an answer to it; the cloud does not give up."""
        while (await self._api.send(call))[0] in _TROUBLE:
            await self._pause(_AGAIN_US)

    async def _pause(self, duration_us: int) -> None:
        await self._clock.sleep_until(self._clock.now_us() + duration_us)


def _if_uid(pod: KnownPod) -> bytes:
    return b'{"preconditions":{"uid":"%s"}}' % pod.uid.encode()


def _eviction(pod: KnownPod) -> Call:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": NAMESPACE},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    return Call("POST", f"{_PODS}/{pod.name}/eviction", orjson.dumps(body))


def _revision(found: Mapping[str, Any]) -> int:
    return int(found["metadata"]["resourceVersion"])
