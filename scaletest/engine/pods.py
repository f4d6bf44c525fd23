"""The live Pods of one cluster as its agent knows them: columns by seat, and the demand rows they add up to.

Lists and events may be older or newer than one another and events may come twice; what a Pod's last event says stands.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import Final

from scaletest.engine.rows import RowBook
from scaletest.model import Need
from scaletest.ports.cluster import SEATS, Answer, Change, PodEvent, PodList

__all__ = ["PodTable"]

_LIVE: Final = 1
_REQUESTED: Final = 2
_BOUND: Final = 4
_LEAVING: Final = 8
# Members of an enum are slow to reach, and these are needed for every event.
_ADDED: Final = Change.ADDED
_DELETED: Final = Change.DELETED
_FLAG: Final = {Change.REQUESTED: _REQUESTED, Change.BOUND: _BOUND, Change.TERMINATING: _LEAVING}
_CHANGE: Final = itemgetter(0)
_GROWTH: Final = 1024
"""Columns grow by so many seats at a time."""
_NOBODY: Final = -1
_UNKNOWN: Final = -1
_HAS_ONE: Final = frozenset({Answer.OK, Answer.CONFLICT})


class PodTable:
    """Who is there, who has a capacity request, and who still waits for one.

    `requests_for_bound` says whether a bound Pod has, and counts for, a request like any other. One that is on its way
    out never does: its replacement is there, or about to be (ADR 0035).
    """

    def __init__(self, cluster: str, *, requests_for_bound: bool) -> None:
        self._book = RowBook(cluster)
        self._bars = _LEAVING if requests_for_bound else _LEAVING | _BOUND
        self._counts_for = _LIVE | _REQUESTED | self._bars
        self._ids = array("q")
        self._owners = array("q")
        self._flags = bytearray()
        self._made_us = array("q")
        """When the request was made; _UNKNOWN for one that was there before this agent."""
        self.live = 0
        self.missing: dict[int, None] = {}
        """Live Pods that should have a request and have none, longest waiting first."""
        self._fresh: list[int] = []
        self.strangers: dict[int, None] = {}
        """Owners of Pods that no list has shown yet."""

    @property
    def covered(self) -> int:
        """Return the live Pods that the rows account for."""
        return self.live - len(self.missing)

    def needs(self) -> tuple[Need, ...]:
        """Return the demand rows."""
        return self._book.needs()

    def take_fresh(self) -> list[int]:
        """Return the Pods whose request was made since this was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def put_back(self, pods: Iterable[int]) -> None:
        """Count requests as fresh again: nobody has seen them yet."""
        self._fresh += pods

    def requests_made_us(self, pods: Iterable[int]) -> list[tuple[int, int]]:
        """Return the Pods that are still there, each with the instant of its request."""
        return [(pod, self._made_us[pod % SEATS]) for pod in pods if self._has(pod)]

    def take_in(self, listing: PodList) -> None:
        """Replace everything by a list that is newer than all events so far; requests that were made stay made."""
        self.learn(listing)
        known = self._flags
        self._make_room(max((pod % SEATS for pod in listing.pods), default=-1))
        self._flags = bytearray(len(self._ids))
        self.missing, counts = {}, Counter[int]()
        leaving = frozenset(listing.terminating)
        for pod, owner, node, requested in zip(
            listing.pods, listing.owner_of, listing.nodes, listing.requested, strict=True
        ):
            seat = pod % SEATS
            flag = _LIVE | (_REQUESTED if requested else 0) | (_BOUND if node else 0)
            flag |= _LEAVING if pod in leaving else 0
            if self._ids[seat] == pod:
                flag |= known[seat]
            else:
                self._ids[seat], self._made_us[seat] = pod, _UNKNOWN
            self._owners[seat], self._flags[seat] = owner, flag
            counts[owner] += self._counted(flag)
            if self._wants(flag):
                self.missing[pod] = None
        self.live = len(listing.pods)
        self._book.set(counts)

    def learn(self, listing: PodList) -> None:
        """Take in only the owners of a list."""
        for owner in listing.owners:
            self._book.learn(owner)
            self.strangers.pop(owner.id, None)

    def take(self, events: Sequence[PodEvent], now_us: int) -> None:
        """Take in events in the order they came."""
        for change, alike in groupby(events, _CHANGE):
            if change is _ADDED:
                for _, pod, owner, node, _ in alike:
                    self._add(pod, owner, bound=bool(node))
            elif change is _DELETED:
                for event in alike:
                    self._remove(event.pod)
            else:
                self._mark([event.pod for event in alike], _FLAG[change], now_us)

    def answered(self, pods: Sequence[int], answers: Sequence[Answer], now_us: int) -> int:
        """Take in what became of requests; return how many were made. The others wait again, at the end of the row."""
        made = [pod for pod, answer in zip(pods, answers, strict=True) if answer in _HAS_ONE]
        self._mark(made, _REQUESTED, now_us)
        for pod, answer in zip(pods, answers, strict=True) if len(made) < len(pods) else ():
            if answer not in _HAS_ONE and pod in self.missing:
                del self.missing[pod]
                # A Pod that is gone is not asked for again; its last event is on the way.
                if answer is not Answer.NOT_FOUND:
                    self.missing[pod] = None
        return len(made)

    def settled(self, pod: int) -> bool:
        """Say whether a Pod was seen and does not, or no longer, wait for a request."""
        seat = pod % SEATS
        return seat < len(self._ids) and self._ids[seat] >= pod and pod not in self.missing

    def _has(self, pod: int) -> bool:
        seat = pod % SEATS
        return seat < len(self._ids) and self._ids[seat] == pod and bool(self._flags[seat])

    def _add(self, pod: int, owner: int, *, bound: bool) -> None:
        seat = pod % SEATS
        if seat >= len(self._ids):
            self._make_room(seat)
        before = self._ids[seat]
        if before >= pod:
            return  # it is known, or its seat already has a later Pod
        if before != _NOBODY:
            self._remove(before)
        flag = _LIVE | _BOUND if bound else _LIVE
        self._ids[seat], self._owners[seat], self._flags[seat] = pod, owner, flag
        self._made_us[seat] = _UNKNOWN
        self.live += 1
        if not self._book.knows(owner):
            self.strangers[owner] = None
        if not flag & self._bars:
            self.missing[pod] = None

    def _remove(self, pod: int) -> None:
        if not self._has(pod):
            return
        seat = pod % SEATS
        if self._counted(self._flags[seat]):
            self._book.add(self._owners[seat], -1)
        # The id stays, with no flag set: an old event must not bring the Pod back.
        self._flags[seat] = 0
        self.live -= 1
        self.missing.pop(pod, None)

    def _mark(self, pods: Iterable[int], flag: int, now_us: int) -> None:
        """Set a flag of Pods; nothing happens to those that have it, are gone or were never seen."""
        ids, flags, seats = self._ids, self._flags, len(self._ids)
        for pod in pods:
            seat = pod % SEATS
            before = flags[seat] if seat < seats and ids[seat] == pod else 0
            if not before or before & flag:
                continue
            after = flags[seat] = before | flag
            if flag == _REQUESTED:
                self._made_us[seat] = now_us
                self._fresh.append(pod)
            if change := self._counted(after) - self._counted(before):
                self._book.add(self._owners[seat], change)
            if not self._wants(after):
                self.missing.pop(pod, None)

    def _counted(self, flag: int) -> bool:
        return flag & self._counts_for == _LIVE | _REQUESTED

    def _wants(self, flag: int) -> bool:
        return not flag & (_REQUESTED | self._bars)

    def _make_room(self, seat: int) -> None:
        if seat >= len(self._ids):
            short = seat + _GROWTH - len(self._ids)
            self._ids.extend(repeat(_NOBODY, short))
            self._owners.extend(repeat(0, short))
            self._flags.extend(bytes(short))
            self._made_us.extend(repeat(_UNKNOWN, short))
