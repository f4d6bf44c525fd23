"""One Kubernetes cluster as a port: API-server semantics, not intentions.

Controllers, scheduler, kubelet and garbage collection belong to the world behind it: a caller deletes a Pod and sees a
replacement appear, it never makes one. Calls take batches and answer for each item on its own; every call takes time.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, Protocol

from scaletest.model import Machine, Requirement, Resources, Spread

__all__ = [
    "NO_REASON",
    "SEATS",
    "Answer",
    "Change",
    "Cluster",
    "Gone",
    "NodeEvent",
    "Nodes",
    "Owner",
    "PodEvent",
    "PodList",
    "PodTemplate",
    "Watch",
    "WatchBatch",
    "WatchBrokenError",
    "WatchExpiredError",
]

SEATS: Final = 1 << 24
"""A Pod's id is serial x SEATS + seat. Ids are never used twice; seats are, so that columns can be indexed by them."""


class Answer(IntEnum):
    """What the API said about one item."""

    OK = 0
    CONFLICT = 1
    NOT_FOUND = 2
    TIMEOUT = 3
    UNAVAILABLE = 4


class Change(IntEnum):
    """What happened to a Pod or a Node."""

    ADDED = 0
    BOUND = 1
    REQUESTED = 2
    """The engine's agent has made the Pod's capacity request; where the Pod is, this does not say."""
    TERMINATING = 3
    DELETED = 4
    READY = 5
    CORDONED = 6


class Gone(StrEnum):
    """Why a Pod was deleted, as its last condition says."""

    DELETED = ""
    EVICTED = "evicted"
    NODE_LOST = "node-lost"


NO_REASON: Final = Gone.DELETED


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What every Pod of an owner asks for; `colocation_key` makes the owner's Pods share one value of that key."""

    requests: Resources
    requirements: tuple[Requirement, ...]
    priority: int
    spread: tuple[Spread, ...] = ()
    colocation_key: str | None = None
    interruption_penalty_uusd: int = 0
    reclamation_penalty_uusd: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """A workload object. `id` is the caller's own number for it, unique in the cluster for the whole run."""

    id: int
    name: str
    replicas: int
    template: PodTemplate


class PodEvent(NamedTuple):
    """One change of one Pod. `node` is empty while it is not bound; `reason` is set when it goes."""

    change: Change
    pod: int
    owner: int
    node: str = ""
    reason: Gone = NO_REASON


class NodeEvent(NamedTuple):
    """One change of one Node: ADDED, READY, CORDONED or DELETED."""

    change: Change
    node: str
    machine: str
    ready: bool = False
    created_us: int = 0


class WatchBatch(NamedTuple):
    """Events read together, in order. None of them happened before `after_us`, as far as the watch can tell.

    `after_us` matters after a break: what is received then may have happened long before. Events are stamped as they
    come in, before anybody looks at them, so a reader may look seldom and still know when each of them arrived.
    """

    received_us: int
    """When the batch was read."""
    after_us: int
    revision: int
    pods: tuple[PodEvent, ...] = ()
    nodes: tuple[NodeEvent, ...] = ()
    pods_us: Sequence[int] = ()
    """When each Pod event came in."""
    nodes_us: Sequence[int] = ()
    """When each Node event came in."""


class WatchBrokenError(Exception):
    """The watch ended early; a new one can go on from the last revision."""


class WatchExpiredError(Exception):
    """The revision is too old to go on from: list again."""


class Watch(Protocol):
    """An open watch."""

    async def next(self) -> WatchBatch:
        """Wait for events; raise WatchBrokenError when the connection ends, WatchExpiredError when it cannot go on."""

    def close(self) -> None:
        """Stop watching."""


@dataclass(frozen=True, slots=True)
class PodList:
    """Every live Pod, in columns, and every owner, at one revision. `nodes` is empty text where a Pod is not bound."""

    revision: int
    owners: tuple[Owner, ...]
    pods: "array[int]"
    owner_of: "array[int]"
    nodes: tuple[str, ...]
    requested: "array[int]"
    """1 where the Pod has its capacity request."""
    terminating: "array[int]" = field(default_factory=lambda: array("q"))
    """Those of `pods` that are on their way out."""


class Cluster(Protocol):
    """What the load driver and the engine's agent may do in one cluster."""

    @property
    def name(self) -> str:
        """Return the cluster's name."""

    async def list(self) -> PodList:
        """List Pods and owners."""

    async def list_nodes(self) -> tuple[int, tuple[NodeEvent, ...]]:
        """List Nodes as ADDED events, with their revision; whoever means to watch lists Pods before."""

    def watch(self, revision: int) -> Watch:
        """Watch Pods and Nodes from a list of Pods on, or from the last batch of a watch that ended."""

    async def create_owners(self, owners: Sequence[Owner], nodes: Sequence[Sequence[str]] = ()) -> Sequence[Answer]:
        """Create owners with all their Pods; `nodes` binds the first Pods of each owner where it says."""

    async def scale(self, owner: int, replicas: int) -> Answer:
        """Change how many Pods an owner has."""

    async def delete_owners(self, owners: Sequence[int]) -> Sequence[Answer]:
        """Delete owners and their Pods."""

    async def delete_pods(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Delete Pods; the id is the precondition, so a replacement is never hit by mistake.

        For a Pod that terminates already the answer is OK, and nothing more happens to it.
        """

    async def create_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Make the capacity requests of Pods; a request goes with its Pod."""

    async def acknowledge_requests(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Mark capacity requests as seen by the engine."""

    async def cordon(self, node: str) -> Answer:
        """Let no further Pod bind to a Node."""

    async def pods_on(self, node: str) -> Sequence[int]:
        """List the Pods of a Node."""

    async def evict(self, pods: Sequence[int]) -> Sequence[Answer]:
        """Evict Pods."""


class Nodes(Protocol):
    """What the cloud may do to one cluster's Nodes; this side belongs to the provider."""

    async def add_node(self, name: str, machine: Machine) -> None:
        """Let a machine join; it becomes Ready by itself."""

    async def drained(self, name: str, *, until_us: int) -> bool:
        """Wait until no Pod is left on a Node, at most until an instant; say whether it is empty."""

    async def remove_node(self, name: str, *, lost: bool = False) -> None:
        """Take a Node away with whatever Pods are still on it."""
