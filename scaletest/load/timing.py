"""Requests on the clock: from the plan or an eviction, over the replacement's appearance, to the bind, as ledger rows.

A request belongs to a slot, not to a Pod: when a Pod is deleted before it was bound, the slot's clock runs on. Open
requests are columns by slot; only a planned replacement of a Pod that still waits needs an entry beside them.
"""

from array import array
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from scaletest.evidence.rows import RequestRow
from scaletest.load.lags import Lags
from scaletest.load.metrics import LoadMetrics
from scaletest.load.nodes import SeenNode

__all__ = ["CAUSES", "Identity", "Ledger", "Requests", "Why"]

_NEVER: Final = -1


class Why(IntEnum):
    """Why a Pod wants a machine; the first three are planned replacements."""

    NOTHING = 0
    CHURN = 1
    MICRO_BURST = 2
    LIFETIME = 3
    EVICTED = 4
    NODE_LOST = 5
    DELETED = 6
    """Somebody deleted the Pod without being asked to."""
    FILL = 7
    BURST = 8
    STEP = 9


# Members of an enum are slow to reach, and these are needed for every event.
_NOTHING: Final = int(Why.NOTHING)
_LAST_PLANNED: Final = int(Why.LIFETIME)

CAUSES: Final = ("", "churn", "micro-burst", "lifetime", "evicted", "node-lost", "deleted", "fill", "burst", "step")
"""The causes as rows name them."""


class Identity(NamedTuple):
    """What every row of one workload says about it."""

    workload: str
    archetype: str
    priority: int
    fingerprint: str
    group: str
    gang: bool


class Ledger:
    """Where the rows of all clusters go, and what they add up to."""

    def __init__(self, row: Callable[[RequestRow], None], metrics: LoadMetrics) -> None:
        self._row = row
        self.metrics = metrics
        self.lags = Lags()
        self.soak_end_us = 0
        """Planned requests from here on only keep the load going; they are not counted."""
        self.sent = self.bound = self.void = self.undelivered = 0

    def send(self, planned_us: int, sent_us: int) -> None:
        """Count a planned replacement that is sent for the first time."""
        if planned_us < self.soak_end_us:
            self.sent += 1
            self.lags.add(sent_us - planned_us)

    def write(self, row: RequestRow, cause: int) -> None:
        """Write a row, and count it if it is one of the soak's planned replacements."""
        if cause <= _LAST_PLANNED and row.planned_us < self.soak_end_us:
            if row.state == "bound":
                self.bound += 1
            else:
                self.void += row.state == "void"
                self.undelivered += row.state == "undelivered"
        self._row(row)


class _Request(NamedTuple):
    """An open request; what has not happened yet is _NEVER."""

    cause: int
    planned_us: int
    sent_us: int = _NEVER
    appeared_us: int = _NEVER
    requested_us: int = _NEVER


class Requests:
    """The open requests of one cluster's slots."""

    def __init__(self, cluster: int, ledger: Ledger, owner_of: Callable[[int], int]) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._owner_of = owner_of
        self._identities: list[Identity] = []
        self.cause: array[int] = array("b")
        self._planned: array[int] = array("q")
        self._sent: array[int] = array("q")
        self._appeared: array[int] = array("q")
        self._requested: array[int] = array("q")
        self._joined: dict[int, list[_Request]] = {}
        """Planned replacements of Pods that were still waiting: each ends with the slot's next bind."""

    def add(self, slots: int, identity: Identity) -> None:
        """Make room for one more owner's slots."""
        self._identities.append(identity)
        self.cause.extend([_NOTHING] * slots)
        for column in (self._planned, self._sent, self._appeared, self._requested):
            column.extend([_NEVER] * slots)

    def open(self, slot: int, cause: int, *, planned_us: int, sent_us: int = _NEVER) -> None:
        """Start a request. On a slot that waits already only a planned one is a request of its own."""
        if not self.cause[slot]:
            self.cause[slot] = cause
            self._planned[slot] = planned_us
            self._sent[slot] = sent_us
            self._appeared[slot] = self._requested[slot] = _NEVER
        elif cause <= _LAST_PLANNED:
            self._joined.setdefault(slot, []).append(_Request(cause, planned_us, sent_us))

    def appeared(self, slot: int, at_us: int) -> None:
        """Start the clock: the slot has a Pod."""
        if self._appeared[slot] == _NEVER:
            self._appeared[slot] = at_us
        if slot in self._joined:
            self._joined[slot] = [
                r._replace(appeared_us=at_us) if r.appeared_us == _NEVER else r for r in self._joined[slot]
            ]

    def requested(self, slot: int, at_us: int) -> None:
        """Note that the slot's Pod has its capacity request."""
        if self._requested[slot] == _NEVER:
            self._requested[slot] = at_us
        if slot in self._joined:
            self._joined[slot] = [
                r._replace(requested_us=at_us) if r.requested_us == _NEVER else r for r in self._joined[slot]
            ]

    def bound(self, slot: int, owner: int, node: SeenNode, at_us: int, after_us: int | None) -> None:
        """Stop the clock and write the rows; `after_us` says since when the bind could have gone unseen."""
        workload, archetype, priority, fingerprint, group, gang = self._identities[owner]
        for cause, planned_us, sent_us, appeared_us, requested_us in self._close(slot):
            if after_us is not None and appeared_us == at_us:
                # It appeared and was bound unseen: it may have waited for the whole gap, or not at all.
                appeared_us = min(at_us, max(after_us, sent_us, planned_us))  # noqa: PLW2901
            new = node.created_us > appeared_us
            row = RequestRow(
                self._cluster,
                slot,
                workload,
                archetype,
                priority,
                fingerprint,
                group,
                CAUSES[cause],
                "bound",
                planned_us,
                None if sent_us == _NEVER else sent_us,
                appeared_us,
                None if requested_us == _NEVER else requested_us,
                None,
                node.ready_us if new else None,
                at_us,
                after_us,
                "new-machine" if new else "present",
                self._ledger.metrics.observe(at_us - appeared_us),
                gang,
            )
            self._ledger.write(row, cause)

    def withdraw(self, slot: int) -> None:
        """End a slot's requests because no Pod is wanted there any more: nobody could have bound them."""
        for request in self._close(slot):
            self.never(slot, "void", request.cause, planned_us=request.planned_us, sent_us=request.sent_us)

    def never(self, slot: int, state: str, cause: int, *, planned_us: int, sent_us: int = _NEVER) -> None:
        """Write the row of a request that no Pod came of."""
        self._write_unbound(slot, state, _Request(cause, planned_us, sent_us))

    def finish(self) -> None:
        """Write every request that is still open."""
        for slot, cause in enumerate(self.cause):
            for request in self._close(slot) if cause else ():
                self._write_unbound(slot, "waiting", request)

    def _close(self, slot: int) -> Sequence[_Request]:
        cause = self.cause[slot]
        if not cause:
            return ()
        self.cause[slot] = _NOTHING
        first = _Request(cause, self._planned[slot], self._sent[slot], self._appeared[slot], self._requested[slot])
        return (first, *self._joined.pop(slot)) if slot in self._joined else (first,)

    def _write_unbound(self, slot: int, state: str, request: _Request) -> None:
        who = self._identities[self._owner_of(slot)]
        row = RequestRow(
            cluster=self._cluster,
            slot=slot,
            workload=who.workload,
            archetype=who.archetype,
            priority=who.priority,
            fingerprint=who.fingerprint,
            group=who.group,
            cause=CAUSES[request.cause],
            state=state,
            planned_us=request.planned_us,
            sent_us=_us(request.sent_us),
            appeared_us=_us(request.appeared_us),
            requested_us=_us(request.requested_us),
            gang=who.gang,
        )
        self._ledger.write(row, request.cause)


def _us(instant: int) -> int | None:
    return None if instant == _NEVER else instant
