"""Keyed random draws: every draw is a function of (seed, concern, entity, ordinal), never of what was drawn before.

So an added draw moves no other, two runs that differ in one rule stay comparable, and any part of a plan can be
derived again on its own. The generator is ours (SplitMix64 over a BLAKE2b key): no library upgrade changes a plan.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Final, Self

__all__ = ["Stream"]

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
_UNIT_BITS: Final = 53


@dataclass(frozen=True, slots=True)
class Stream:
    """An endless row of independent draws, addressed by ordinal."""

    key: int

    @classmethod
    def of(cls, seed: int, concern: str, *entity: str | int) -> Self:
        """Return the stream of one concern ("churn", "size") for one entity (a cluster, a workload)."""
        # Lengths go in front so that ("ab", "c") and ("a", "bc") never share a key.
        text = "".join(f"{len(part)}:{part}" for part in map(str, (seed, concern, *entity)))
        return cls(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()))

    def bits(self, ordinal: int) -> int:
        """Return 64 uniform bits."""
        value = (self.key + (ordinal + 1) * _STEP) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        return value ^ (value >> 31)

    def below(self, bound: int, ordinal: int) -> int:
        """Return a uniform integer in [0, bound); the bias of at most bound / 2^64 is never visible."""
        return self.bits(ordinal) * bound >> 64

    def between(self, low: int, high: int, ordinal: int) -> int:
        """Return a uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1, ordinal)

    def unit(self, ordinal: int) -> float:
        """Return a uniform number in [0, 1)."""
        return (self.bits(ordinal) >> (64 - _UNIT_BITS)) / (1 << _UNIT_BITS)

    def chance(self, probability: float, ordinal: int) -> bool:
        """Return True with the given probability: never at 0, always at 1."""
        return self.unit(ordinal) < probability

    def weighted(self, weights: Sequence[int], ordinal: int) -> int:
        """Return an index with probability in proportion to its weight."""
        sums = list(accumulate(weights))
        return bisect_right(sums, self.below(sums[-1], ordinal))
