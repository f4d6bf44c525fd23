"""Nearest-rank quantiles of samples that may be intervals, and of histograms: brackets, never guesses."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from scaletest.gates.outcomes import Bracket
from scaletest.model.instants import exact

__all__ = ["HistogramDelta", "Interval", "histogram_quantile", "nearest_rank", "over_bar", "quantile"]

Interval = tuple[float, float]
"""A sample known to lie in [low, high]; high is infinite for one that was still waiting."""


def nearest_rank(samples: int, share: float) -> int:
    """Return the rank, from 1, of a quantile; at n below 100 the p99 is the maximum."""
    return max(1, ceil(samples * exact(share)))


def quantile(samples: Sequence[Interval], share: float) -> Bracket:
    """Return the bracket of a quantile: the same rank among the lower and among the upper edges."""
    rank = nearest_rank(len(samples), share) - 1
    low = sorted([low for low, _ in samples])[rank]
    high = sorted([high for _, high in samples])[rank]
    return Bracket(low, None if high == inf else high)


def over_bar(samples: Sequence[Interval], bar: float) -> int:
    """Return how many samples are, or may be, over a bar."""
    return sum(high > bar for _, high in samples)


@dataclass(frozen=True, slots=True)
class HistogramDelta:
    """Observations by upper bucket edge, not cumulated; the last edge is infinite."""

    counts: tuple[tuple[float, int], ...]

    @property
    def total(self) -> int:
        """Return the number of observations."""
        return sum(count for _, count in self.counts)


def histogram_quantile(delta: HistogramDelta, share: float) -> Bracket:
    """Return the edges of the bucket that holds the quantile; nothing is interpolated between them."""
    rank = nearest_rank(delta.total, share)
    seen, lower = 0, 0.0
    for edge, count in delta.counts:
        seen += count
        if seen >= rank:
            return Bracket(lower, None if edge == inf else edge)
        lower = edge
    raise AssertionError("a histogram's counts reach their own total")
