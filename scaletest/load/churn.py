"""Planned replacements of one cluster, sent in an open loop: a slow API delays them, and never makes them fewer.

One task sends whatever is due as one batch and then looks again; what became due in the meantime is the next batch.
The slot's Pod is looked up when it is sent. Whether a deletion took place is told by the watch, not by the answer.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from scaletest.load.demand import Arrivals
from scaletest.load.metrics import Errand
from scaletest.load.slots import NOBODY, SlotTable
from scaletest.load.timing import Ledger, Requests
from scaletest.model import US_PER_SECOND
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Answer, Cluster

__all__ = ["Churn", "Sent"]

_RETRY_US: Final = US_PER_SECOND
_TRIES: Final = 5
_NOT_YET: Final = 1 << 62
_TROUBLE: Final = (Answer.TIMEOUT, Answer.UNAVAILABLE)


class Sent(NamedTuple):
    """A replacement on its way: the Pod was to be deleted, and is not yet seen to be gone."""

    slot: int
    cause: int
    planned_us: int
    sent_us: int
    tries: int


class Churn:
    """The sender of one cluster."""

    def __init__(
        self,
        arrivals: Arrivals,
        *,
        cluster: Cluster,
        clock: Clock,
        slots: SlotTable,
        requests: Requests,
        ledger: Ledger,
    ) -> None:
        self._arrivals = arrivals
        self._cluster, self._clock = cluster, clock
        self._slots, self._requests, self._ledger = slots, requests, ledger
        self._start_us = _NOT_YET
        self._next = 0
        self._sent: dict[int, Sent] = {}
        self._again: deque[tuple[int, int]] = deque()
        """When to try again, and which Pod; always in order, because every wait is the same."""

    async def run(self, start_us: int) -> None:
        """Send everything that is planned, the linger's requests too."""
        self._start_us = start_us
        while (due_us := self._due_us()) is not None:
            await self._clock.sleep_until(due_us)
            if pods := self._take():
                self._answered(pods, await self._cluster.delete_pods(pods))

    def claim(self, pod: int) -> Sent | None:
        """Return what was sent to a Pod that is now gone; from here on it is a request of its slot."""
        return self._sent.pop(pod, None)

    def is_sent(self, pod: int) -> bool:
        """Say whether a Pod was to be deleted."""
        return pod in self._sent

    def finish(self) -> None:
        """Write the rows of what is still on its way, or never went."""
        for _, pod in self._again:
            self._give_up(pod)
        for sent in self._sent.values():
            self._requests.never(sent.slot, "waiting", sent.cause, planned_us=sent.planned_us, sent_us=sent.sent_us)
        self._sent.clear()
        for number in self._come_due(self._clock.now_us()):
            slot, cause = self._arrivals.slot[number], self._arrivals.cause[number]
            self._requests.never(slot, "undelivered", cause, planned_us=self._start_us + self._arrivals.at_us[number])

    def _come_due(self, now_us: int) -> range:
        """Return the arrivals that have come due since this was last asked."""
        first = self._next
        self._next = bisect_right(self._arrivals.at_us, now_us - self._start_us, first)
        return range(first, self._next)

    def _due_us(self) -> int | None:
        """Return when there is something to send again, or for the first time."""
        if self._next == len(self._arrivals.at_us):
            return self._again[0][0] if self._again else None
        planned_us = self._start_us + self._arrivals.at_us[self._next]
        return min(planned_us, self._again[0][0]) if self._again else planned_us

    def _take(self) -> list[int]:
        """Return the Pods that are due to be deleted now."""
        now_us, pods = self._clock.now_us(), list[int]()
        while self._again and self._again[0][0] <= now_us:
            _, pod = self._again.popleft()
            if (sent := self._sent.get(pod)) is not None:
                self._sent[pod] = sent._replace(sent_us=now_us, tries=sent.tries + 1)
                pods.append(pod)
        for number in self._come_due(now_us):
            pod = self._resolve(number, now_us)
            if pod != NOBODY:
                pods.append(pod)
        return pods

    def _resolve(self, number: int, now_us: int) -> int:
        """Return the Pod of an arrival's slot; a slot that is empty, or being emptied, makes the arrival void."""
        slot, cause = self._arrivals.slot[number], self._arrivals.cause[number]
        planned_us = self._start_us + self._arrivals.at_us[number]
        pod = self._slots.pod_of[slot]
        if pod == NOBODY or pod in self._sent:
            self._requests.never(slot, "void", cause, planned_us=planned_us)
            return NOBODY
        self._sent[pod] = Sent(slot, cause, planned_us, now_us, 1)
        self._ledger.send(planned_us, now_us)
        return pod

    def _answered(self, pods: list[int], answers: Sequence[Answer]) -> None:
        well = answers.count(Answer.OK)
        self._ledger.metrics.deleted += well
        if well == len(pods):
            return
        for pod, answer in zip(pods, answers, strict=True):
            if answer not in _TROUBLE:
                continue
            self._ledger.metrics.errors[Errand.DELETE] += 1
            if pod in self._sent and self._sent[pod].tries >= _TRIES:
                self._give_up(pod)
            else:
                self._again.append((self._clock.now_us() + _RETRY_US, pod))

    def _give_up(self, pod: int) -> None:
        if (sent := self._sent.pop(pod, None)) is not None:
            self._requests.never(sent.slot, "undelivered", sent.cause, planned_us=sent.planned_us)
