"""Nearest-rank quantiles of samples that may be intervals, and of histograms: brackets, never guesses."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, inf
from typing import Self

from scaletest.gates.outcomes import Bracket
from scaletest.model.instants import exact

__all__ = ["HistogramDelta", "Interval", "Spread", "histogram_quantile", "nearest_rank"]

Interval = tuple[float, float]
"""A sample known to lie in [low, high]; high is infinite for one that was still waiting."""


def nearest_rank(samples: int, share: float) -> int:
    """Return the rank, from 1, of a quantile; at n below 100 the p99 is the maximum."""
    return max(1, ceil(samples * exact(share)))


class Spread:
    """Samples in order, each with its number: of millions most are alike."""

    def __init__(self, numbers: Mapping[Interval, int]) -> None:
        self._lows = _Edges((low, number) for (low, _), number in numbers.items())
        self._highs = _Edges((high, number) for (_, high), number in numbers.items())

    @classmethod
    def of(cls, samples: Iterable[Interval]) -> Self:
        """Return the spread of samples one by one."""
        return cls(Counter(samples))

    def __len__(self) -> int:
        return self._lows.total

    def quantile(self, share: float) -> Bracket:
        """Return the bracket of a quantile: the same rank among the lower and among the upper edges."""
        rank = nearest_rank(len(self), share)
        low, high = self._lows.at(rank), self._highs.at(rank)
        return Bracket(low, None if high == inf else high)

    def over(self, bar: float) -> int:
        """Return how many samples are, or may be, over a bar."""
        return self._highs.above(bar)


class _Edges:
    """The edges of one side, rising, and how many there are up to each."""

    def __init__(self, numbered: Iterable[tuple[float, int]]) -> None:
        ordered = sorted(numbered)
        self._edges = [edge for edge, _ in ordered]
        self._up_to = list(accumulate(number for _, number in ordered))
        self.total = self._up_to[-1] if self._up_to else 0

    def at(self, rank: int) -> float:
        return self._edges[bisect_left(self._up_to, rank)]

    def above(self, bar: float) -> int:
        within = bisect_right(self._edges, bar)
        return self.total - (self._up_to[within - 1] if within else 0)


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
