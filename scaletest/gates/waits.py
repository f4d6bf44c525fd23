"""How long requests waited: worked out and sorted once, whatever is then picked from them is in order already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import attrgetter

from scaletest.evidence import RequestRow
from scaletest.gates.case import Case
from scaletest.gates.quantiles import Interval
from scaletest.model.instants import US_PER_SECOND

__all__ = ["Waits", "all_waits"]


@dataclass(frozen=True)
class Waits:
    """Requests by rising waiting time, and those times in seconds."""

    case: Case
    rows: Sequence[RequestRow]
    times: Sequence[Interval]

    def where(self, holds: Callable[[RequestRow], bool]) -> "Waits":
        """Return the waits of those requests for which this holds."""
        kept = [(row, time) for row, time in zip(self.rows, self.times, strict=True) if holds(row)]
        return Waits(self.case, [row for row, _ in kept], [time for _, time in kept])

    @cached_property
    def in_tail(self) -> list[Interval]:
        """Return the times of the requests that were planned in the tail."""
        start, end = self.case.tail.start_us, self.case.tail.end_us
        return [time for row, time in zip(self.rows, self.times, strict=True) if start <= row.planned_us < end]

    @cached_property
    def by_cluster(self) -> dict[str, list[Interval]]:
        """Return the times by cluster."""
        return {f"cluster {number}": times for number, times in self._by("cluster").items()}

    @cached_property
    def by_archetype(self) -> dict[str, list[Interval]]:
        """Return the times by archetype."""
        return self._by("archetype")

    @cached_property
    def by_priority(self) -> dict[str, list[Interval]]:
        """Return the times by priority."""
        return {str(priority): times for priority, times in self._by("priority").items()}

    @cached_property
    def by_fingerprint(self) -> dict[str, list[Interval]]:
        """Return the times by fingerprint of the demand."""
        return self._by("fingerprint")

    @cached_property
    def by_path(self) -> dict[str, list[Interval]]:
        """Return the times by the way to a machine."""
        return self._by("path")

    @cached_property
    def since_plan(self) -> list[Interval]:
        """Return the times from the planned instants on."""
        return sorted([_since_plan(self.case, row) for row in self.rows], key=lambda time: time[0])

    @cached_property
    def early(self) -> int:
        """Return how many were bound before their requests existed."""
        both = [
            (r.bound_us, r.requested_us) for r in self.rows if r.bound_us is not None and r.requested_us is not None
        ]
        return sum(bound < requested for bound, requested in both)

    def _by(self, field: str) -> dict[str, list[Interval]]:
        groups: dict[str, list[Interval]] = {}
        for name, time in zip(map(attrgetter(field), self.rows), self.times, strict=True):
            if name in groups:
                groups[name].append(time)
            else:
                groups[name] = [time]
        return groups


def all_waits(case: Case) -> Waits:
    """Return the waits of every SLO sample of a case."""
    return case.once(_all_waits)


def _all_waits(case: Case) -> Waits:
    times = [_waited(case, row) for row in case.samples]
    lows = [low for low, _ in times]
    order = sorted(range(len(lows)), key=lows.__getitem__)
    return Waits(case, [case.samples[at] for at in order], [times[at] for at in order])


def _waited(case: Case, row: RequestRow) -> Interval:
    """Return how long a request waited, in seconds.

    The clock starts when the Pod appeared; one that never did counts from its planned instant, and one not bound when
    the run ended is only known to have waited until then.
    """
    start = row.planned_us if row.appeared_us is None else row.appeared_us
    if row.bound_us is None or row.appeared_us is None:
        return max(0, case.end_us - start) / US_PER_SECOND, inf
    after = row.bound_us if row.bound_after_us is None else min(row.bound_after_us, row.bound_us)
    high = max(0, row.bound_us - start) / US_PER_SECOND
    return high if after == row.bound_us else max(0, after - start) / US_PER_SECOND, high


def _since_plan(case: Case, row: RequestRow) -> Interval:
    if row.bound_us is None:
        return max(0, case.end_us - row.planned_us) / US_PER_SECOND, inf
    seconds = max(0, row.bound_us - row.planned_us) / US_PER_SECOND
    return seconds, seconds
