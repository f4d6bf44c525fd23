"""Planned replacements: which slot is replaced when, and why. Instants are microseconds after soak start.

The number of replacements is exact arithmetic (share x Pods x minutes); only their instants and slots are drawn. A
Poisson process conditioned on its count has just such uniform instants, so nothing is lost but the noise in n. One
cluster's schedule is re-derived on demand from its streams; millions of arrivals never exist at once.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from scaletest.model import US_PER_SECOND, Stream, microseconds
from scaletest.model.instants import exact
from scaletest.plan.clusters import ClusterPlan
from scaletest.profile.load import LoadProfile

__all__ = ["Arrival", "Cause", "ClusterSchedule", "Segment", "segments_of"]

_US_PER_MINUTE: Final = 60 * US_PER_SECOND


class Cause(StrEnum):
    """Why a Pod is replaced."""

    CHURN = "churn"
    MICRO_BURST = "micro-burst"
    LIFETIME = "lifetime"


class Arrival(NamedTuple):
    """One planned replacement; arrivals sort by instant, then cause, then slot."""

    at_us: int
    cause: Cause
    slot: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time with constant demand; `multiplier` of the original Pods are live."""

    start_us: int
    end_us: int
    multiplier: Fraction

    @property
    def length_us(self) -> int:
        """Return its length."""
        return self.end_us - self.start_us


def segments_of(load: LoadProfile, *, soak_us: int, linger_us: int) -> tuple[Segment, ...]:
    """Cut soak and linger where demand changes and where the soak ends."""
    steps = [(microseconds(c.at_seconds), exact(c.target_multiplier)) for c in load.scale_downs]
    steps += [(microseconds(c.at_seconds), exact(c.target_multiplier)) for c in load.demand_steps]
    changes = {0: Fraction(1), **dict(sorted(steps))}
    marks = sorted({*changes, soak_us, soak_us + linger_us})
    segments, multiplier = [], Fraction(1)
    for start, end in pairwise(marks):
        multiplier = changes.get(start, multiplier)
        segments.append(Segment(start, end, multiplier))
    return tuple(segments)


@dataclass(frozen=True)
class ClusterSchedule:
    """The replacements of one cluster."""

    cluster: ClusterPlan
    load: LoadProfile
    segments: tuple[Segment, ...]
    seed: int

    def live(self, multiplier: Fraction) -> list[int]:
        """Return the replicas of every workload when demand is at `multiplier`: the largest workloads go first."""
        replicas = [w.replicas for w in self.cluster.workloads]
        target, total = self.cluster.slots * multiplier, self.cluster.slots
        for i in sorted(range(len(replicas)), key=lambda i: (-replicas[i], i)):
            if total <= target:
                break
            total -= replicas[i]
            replicas[i] = 0
        return replicas

    def counts(self, *, until_us: int) -> Counter[Cause]:
        """Return the number of arrivals before an instant, by cause; the instant must end a segment."""
        total: Counter[Cause] = Counter()
        for batch in self._batches():
            if batch.segment.end_us <= until_us:
                total[batch.cause] += batch.count
        return total

    def per_second(self, *, until_us: int) -> Counter[int]:
        """Return the arrivals of every second before an instant."""
        seconds: Counter[int] = Counter()
        for batch in self._batches():
            if batch.segment.end_us <= until_us:
                seconds.update(at_us // US_PER_SECOND for at_us in batch.instants())
        return seconds

    def arrivals(self) -> list[Arrival]:
        """Return the whole schedule, linger included, in order."""
        return sorted(arrival for batch in self._batches() for arrival in batch.arrivals())

    def _batches(self) -> Iterator["_Batch"]:
        churned = aged = Fraction(0)
        kinds = self.cluster.inventory.sizing.archetypes
        for number, segment in enumerate(self.segments):
            live = self.live(segment.multiplier)
            per_minute = sum(live) * exact(self.load.churn_per_minute)
            count, churned = _whole(churned, per_minute * segment.length_us / _US_PER_MINUTE)
            yield self._batch(Cause.CHURN, segment, live, count=count, key=(number,))
            yield from self._micro_bursts(segment, live, per_minute / 60)
            for archetype, kind in enumerate(kinds):
                if not kind.mean_lifetime_us:
                    continue
                own = [n if w.archetype == archetype else 0 for n, w in zip(live, self.cluster.workloads, strict=True)]
                count, aged = _whole(aged, Fraction(sum(own) * segment.length_us, kind.mean_lifetime_us))
                yield self._batch(Cause.LIFETIME, segment, own, count=count, key=(number, kind.name))

    def _micro_bursts(self, segment: Segment, live: list[int], per_second: Fraction) -> Iterator["_Batch"]:
        """One second's churn is multiplied now and then; what a multiplied fraction of a Pod means is drawn."""
        extra = per_second * (exact(self.load.micro_burst_factor) - 1)
        chance = self.load.micro_burst_rate_per_minute / 60
        if not extra or not chance:
            return
        draws = Stream.of(self.seed, "micro-burst", self.cluster.name)
        for second in range(segment.start_us // US_PER_SECOND, -(-segment.end_us // US_PER_SECOND)):
            start = second * US_PER_SECOND
            if start < segment.start_us or not draws.chance(chance, 2 * second):
                continue
            count = int(extra) + draws.chance(float(extra % 1), 2 * second + 1)
            tick = Segment(start, min(start + US_PER_SECOND, segment.end_us), segment.multiplier)
            yield self._batch(Cause.MICRO_BURST, tick, live, count=count, key=(second,))

    def _batch(
        self, cause: Cause, segment: Segment, live: list[int], *, count: int, key: tuple[int | str, ...]
    ) -> "_Batch":
        spaced = cause is Cause.CHURN and not self.load.jittered_churn
        draws = Stream.of(self.seed, cause, self.cluster.name, *key)
        return _Batch(cause, segment, live, self.cluster, draws, count if any(live) else 0, spaced)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Arrivals of one cause in one segment, over the slots that are live then."""

    cause: Cause
    segment: Segment
    live: list[int]
    cluster: ClusterPlan
    draws: Stream
    count: int
    spaced: bool

    def instants(self) -> Iterator[int]:
        """Yield the instants, in no order."""
        start, length = self.segment.start_us, self.segment.length_us
        for n in range(self.count):
            offset = (2 * n + 1) * length // (2 * self.count) if self.spaced else self.draws.below(length, 2 * n)
            yield start + offset

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the arrivals, in no order."""
        ends = list(accumulate(self.live))
        starts = [end - w.replicas for end, w in zip(self.cluster.slot_ends, self.cluster.workloads, strict=True)]
        for n, at_us in enumerate(self.instants()):
            pick = self.draws.below(ends[-1], 2 * n + 1)
            workload = bisect_right(ends, pick)
            yield Arrival(at_us, self.cause, starts[workload] + pick - (ends[workload] - self.live[workload]))


def _whole(carried: Fraction, more: Fraction) -> tuple[int, Fraction]:
    """Return the whole events that `more` adds, and the fraction carried on, so that totals never drift."""
    total = carried + more
    count = (total + Fraction(1, 2)).__floor__()
    return count, total - count
