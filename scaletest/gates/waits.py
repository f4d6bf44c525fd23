"""How long requests waited: the rows are gone through once, and every question is asked of kinds of waits.

Requests of one cluster and workload that waited equally long are one kind. A simulated hour has eight million requests
and a sixth as many kinds; a real one has few of both.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from scaletest.evidence import RequestRow
from scaletest.gates.case import Case
from scaletest.gates.quantiles import Interval, Spread
from scaletest.model.instants import US_PER_SECOND

__all__ = ["Waits", "all_waits"]


class _Kind(NamedTuple):
    """What the waits of some requests have in common."""

    cluster: int
    archetype: str
    priority: int
    fingerprint: str
    path: str
    in_tail: bool
    waited: Interval


@dataclass(frozen=True)
class Waits:
    """Requests, and how long they waited, in seconds."""

    case: Case
    rows: Sequence[RequestRow]

    def where(self, holds: Callable[[RequestRow], bool]) -> "Waits":
        """Return the waits of those requests for which this holds."""
        return Waits(self.case, [row for row in self.rows if holds(row)])

    @cached_property
    def all(self) -> Spread:
        """Return all of them."""
        return self._by(lambda _: None).get(None, Spread({}))

    @cached_property
    def in_tail(self) -> Spread:
        """Return the waits of the requests that were planned in the tail."""
        return self._by(lambda kind: kind.in_tail).get(True, Spread({}))

    @cached_property
    def by_cluster(self) -> dict[str, Spread]:
        """Return the waits by cluster."""
        return self._by(lambda kind: f"cluster {kind.cluster}")

    @cached_property
    def by_archetype(self) -> dict[str, Spread]:
        """Return the waits by archetype."""
        return self._by(lambda kind: kind.archetype)

    @cached_property
    def by_priority(self) -> dict[str, Spread]:
        """Return the waits by priority."""
        return self._by(lambda kind: str(kind.priority))

    @cached_property
    def by_fingerprint(self) -> dict[str, Spread]:
        """Return the waits by fingerprint of the demand."""
        return self._by(lambda kind: kind.fingerprint)

    @cached_property
    def by_path(self) -> dict[str, Spread]:
        """Return the waits by the way to a machine."""
        return self._by(lambda kind: kind.path)

    @cached_property
    def since_plan(self) -> Spread:
        """Return the times from the planned instants on."""
        return Spread.of(_since_plan(self.case, row) for row in self.rows)

    @cached_property
    def early(self) -> int:
        """Return how many were bound before their requests existed."""
        both = ((r.bound_us, r.requested_us) for r in self.rows)
        return sum(bound < requested for bound, requested in both if bound is not None and requested is not None)

    @cached_property
    def _kinds(self) -> Counter[_Kind]:
        case, tail = self.case, self.case.tail
        return Counter(
            _Kind(
                row.cluster,
                row.archetype,
                row.priority,
                row.fingerprint,
                row.path,
                tail.start_us <= row.planned_us < tail.end_us,
                _waited(case, row),
            )
            for row in self.rows
        )

    def _by(self, name_of: Callable[[_Kind], Any]) -> dict[Any, Spread]:
        groups: defaultdict[Any, Counter[Interval]] = defaultdict(Counter)
        for kind, number in self._kinds.items():
            groups[name_of(kind)][kind.waited] += number
        return {name: Spread(numbers) for name, numbers in groups.items()}


def all_waits(case: Case) -> Waits:
    """Return the waits of every SLO sample of a case."""
    return case.once(_all_waits)


def _all_waits(case: Case) -> Waits:
    return Waits(case, case.samples)


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
