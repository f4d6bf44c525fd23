"""Pods the scheduler cannot tell apart, and where they may go.

A Kind is (tests on labels, requests, topology keys). It sorts the Nodes that pass its tests into Domains, one per value
of its keys; a Kind without keys has a single one. A Domain keeps its Nodes by room in a lazy heap and the Pods that
wait for its room in a line, so that neither a bind nor a wake ever looks at all Nodes or all Pods.
"""

from collections.abc import Collection, Iterable, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final
from zlib import crc32

from scaletest.model import Machine, Operator, Requirement
from scaletest.ports.cluster import PodTemplate
from scaletest.world.sim.agenda import NEVER_US
from scaletest.world.sim.nodes import Needs, Node

if TYPE_CHECKING:
    from scaletest.world.sim.pods import ReplicaSet

__all__ = ["Domain", "Kind", "Placement", "topology_keys"]

_SLACK: Final = 1024
"""How many entries a line may have of Pods that wait no more, before it is swept."""

_FEW: Final = 64
"""How many overtaken entries a heap may have whatever its size."""


def topology_keys(template: PodTemplate) -> tuple[str, ...]:
    """Return the keys whose values matter to an owner's Pods together: the gang's first, then those of spreads."""
    gang = (template.colocation_key,) if template.colocation_key is not None else ()
    return (*gang, *(spread.topology_key for spread in template.spread))


class Domain:
    """The Nodes of a Kind that share one value of its keys, and the Pods that wait for room among them."""

    __slots__ = ("_heap", "_later", "_line", "_lined", "_stated", "_text", "needs", "nodes", "value")

    def __init__(self, needs: Needs, value: tuple[str, ...]) -> None:
        self.needs = needs
        self._text = f" {needs}".encode()
        self.value = value
        self.nodes: dict[str, Node] = {}
        # Every Node with room has an entry (-score, tie, name) that states at least its true score. Growth is stated at
        # once, shrinkage when an entry comes up; an entry that differs from `_stated` was overtaken by a newer one.
        self._heap: list[tuple[int, int, str]] = []
        self._stated: dict[str, int] = {}
        self._line: list[tuple[int, int]] = []
        self._later: list[tuple[int, int, int]] = []
        self._lined: set[int] = set()

    def grew(self, node: Node) -> None:
        """Take note that a Node may have more room than before."""
        score = node.score(self.needs)
        if score > self._stated.get(node.name, 0):
            self._stated[node.name] = score
            if len(self._heap) > 2 * len(self._stated) + _FEW:
                self._forget_overtaken()
            heappush(self._heap, (-score, self._tie(node), node.name))

    def _forget_overtaken(self) -> None:
        """Drop entries that were overtaken: those of fuller Nodes would lie at the bottom for ever."""
        stated = self._stated
        self._heap = list(dict.fromkeys([entry for entry in self._heap if stated.get(entry[2]) == -entry[0]]))
        heapify(self._heap)

    def _tie(self, node: Node) -> int:
        """Return a Node's place among equals: nobody's name may decide, and equal runs must agree."""
        return crc32(self._text, node.mark)

    def leave(self, node: Node) -> None:
        """Forget a Node."""
        del self.nodes[node.name]
        self._stated.pop(node.name, None)

    def top(self) -> tuple[int, int, str] | None:
        """Return the entry of the emptiest Node with room for a Pod; None when all are full or closed."""
        heap, stated, needs = self._heap, self._stated, self.needs
        while heap:
            entry = heap[0]
            stale, tie, name = entry
            if stated.get(name) != -stale:
                heappop(heap)
                continue
            score = self.nodes[name].score(needs)
            if score == -stale:
                return entry
            if score:
                stated[name] = score
                heapreplace(heap, (-score, tie, name))
            else:
                del stated[name]
                heappop(heap)
        return None

    def room(self) -> int:
        """Return how many more Pods fit in all."""
        return sum(node.room(self.needs) for node in self.nodes.values())

    def park(self, rank: int, pod: int, parked: Mapping[int, int]) -> None:
        """Let a Pod wait for room here; `parked` says until when each waiting Pod backs off."""
        if pod in self._lined:
            return
        if len(self._lined) > 2 * len(parked) + _SLACK:
            self._sweep(parked)
        self._lined.add(pod)
        heappush(self._later, (parked[pod], rank, pod))

    def _sweep(self, parked: Mapping[int, int]) -> None:
        self._line = [entry for entry in self._line if entry[-1] in parked]
        self._later = [entry for entry in self._later if entry[-1] in parked]
        self._lined.intersection_update(parked)
        heapify(self._line)
        heapify(self._later)

    def head(self, now_us: int, parked: Mapping[int, int]) -> tuple[int, int] | None:
        """Return (rank, Pod) of the first whose back-off is over; Pods that do not wait any more drop out."""
        line, later = self._line, self._later
        while later and later[0][0] <= now_us:
            heappush(line, heappop(later)[1:])
        while line:
            rank, pod = line[0]
            until_us = parked.get(pod)
            if until_us is None:
                self.drop_head()
            elif until_us > now_us:  # it was woken elsewhere, found nothing and backs off again
                heappop(line)
                heappush(later, (until_us, rank, pod))
            else:
                return line[0]
        return None

    def drop_head(self) -> None:
        """Take the first Pod out of the line."""
        self._lined.discard(heappop(self._line)[1])

    @property
    def waiting(self) -> bool:
        """Say whether anybody may be in line."""
        return bool(self._lined)

    @property
    def next_us(self) -> int:
        """Return when the next back-off ends."""
        return self._later[0][0] if self._later else NEVER_US


class Placement:
    """What an owner with a gang or hard spreads knows of its own Pods: how many are where, and which wait.

    A gang is held by bound and terminating Pods, as Pod affinity counts them; a spread counts bound ones only.
    """

    __slots__ = ("armed_us", "counts", "gang", "keys", "parked", "skews")

    def __init__(self, template: PodTemplate) -> None:
        self.keys = topology_keys(template)
        self.gang = template.colocation_key is not None
        self.skews = tuple(spread.max_skew for spread in template.spread)
        self.counts: tuple[dict[str, int], ...] = tuple({} for _ in self.keys)
        self.parked: dict[int, None] = {}
        self.armed_us = NEVER_US

    @property
    def starts_gang(self) -> bool:
        """Say whether the next Pod chooses the gang's domain."""
        return self.gang and not self.counts[0]

    def joined(self, machine: Machine, pods: int = 1) -> None:
        """Count a Pod that was bound, or so many on one machine."""
        self._count(machine, 0, len(self.keys), pods)

    def leaving(self, machine: Machine) -> None:
        """Count a bound Pod that is terminating or gone; spreads do not see it any more."""
        self._count(machine, int(self.gang), len(self.keys), -1)

    def left(self, machine: Machine) -> None:
        """Count a Pod that is gone; nor does it hold the gang."""
        self._count(machine, 0, int(self.gang), -1)

    def _count(self, machine: Machine, first: int, end: int, change: int) -> None:
        for key, counts in zip(self.keys[first:end], self.counts[first:end], strict=True):
            if (value := machine.label(key)) is not None:
                counts[value] = counts.get(value, 0) + change
                if not counts[value]:
                    del counts[value]

    def allowed(self, domains: Collection[Domain]) -> list[Domain]:
        """Return the domains that gang and spreads leave, with or without room.

        As in Kubernetes, the least crowded value counts even when no Pod can be bound there now.
        """
        found = list(domains)
        if self.gang and self.counts[0]:
            found = [domain for domain in found if domain.value[0] in self.counts[0]]
        for at, skew in enumerate(self.skews, start=int(self.gang)):
            counts = self.counts[at]
            least = min((counts.get(domain.value[at], 0) for domain in domains), default=0)
            found = [domain for domain in found if counts.get(domain.value[at], 0) < least + skew]
        return found


class Kind:
    """Pods with equal tests, requests and topology keys. `waiting` are its owners with rules that have parked Pods."""

    __slots__ = ("domains", "keys", "needs", "requirements", "waiting")

    def __init__(self, template: PodTemplate) -> None:
        self.requirements = template.requirements
        self.needs = template.requests.amounts
        self.keys = topology_keys(template)
        self.domains: dict[tuple[str, ...], Domain] = {} if self.keys else {(): Domain(self.needs, ())}
        self.waiting: dict[int, ReplicaSet] = {}

    def join(self, node: Node) -> bool:
        """Take a Node in, if it passes the tests; say whether that opened a domain."""
        value = self._value(node.machine)
        if value is None:
            return False
        opened = value not in self.domains
        domain = self.domains.setdefault(value, Domain(self.needs, value))
        domain.nodes[node.name] = node
        node.domains.append(domain)
        domain.grew(node)
        return opened

    def leave(self, node: Node) -> bool:
        """Let a Node go; say whether that closed a domain."""
        domain = self.domains.get(self._value(node.machine) or ())
        if domain is None or node.name not in domain.nodes:
            return False
        domain.leave(node)
        if domain.nodes or not self.keys:
            return False
        del self.domains[domain.value]
        return True

    def _value(self, machine: Machine) -> tuple[str, ...] | None:
        if not all(_passes(test, machine.label(test.key)) for test in self.requirements):
            return None
        values = tuple(value for key in self.keys if (value := machine.label(key)) is not None)
        return values if len(values) == len(self.keys) else None

    def choose(self, placement: Placement | None) -> Node | None:
        """Return the Node for a Pod: the emptiest with room for it, by whole percents as the real scheduler scores.

        Full fleets tie at nothing free, so their holes are taken in no particular order, whatever their size. The first
        Pod of a gang goes to the domain with most room in all.
        """
        if placement is None:
            return _emptiest(self.domains.values())
        allowed = placement.allowed(self.domains.values())
        if placement.starts_gang:
            roomy = (domain for domain in allowed if domain.top() is not None)
            allowed = sorted(roomy, key=lambda domain: (-domain.room(), domain.value))[:1]
        return _emptiest(allowed)


def _emptiest(domains: Iterable[Domain]) -> Node | None:
    best, where = None, None
    for domain in domains:
        top = domain.top()
        if top is not None and (best is None or top < best):
            best, where = top, domain
    return where.nodes[best[2]] if where is not None and best is not None else None


def _passes(test: Requirement, value: str | None) -> bool:
    match test.operator:
        case Operator.IN:
            return value in test.values
        case Operator.NOT_IN:
            return value not in test.values
        case Operator.EXISTS | Operator.SAME:  # that a gang shares the value is the matter of its colocation key
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
