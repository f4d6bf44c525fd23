"""Money as whole micro-dollars, and the penalty buckets that demand is aggregated by."""

from dataclasses import dataclass
from typing import Final

from scaletest.model.instants import exact

__all__ = ["MICRO_USD", "PINNED", "PenaltyBucket", "micro_usd", "penalty_bucket"]

MICRO_USD: Final = 1_000_000

# Ordinal 1 is nothing, 2 is up to half a dollar, 3 up to one, then powers of two up to 2^23 dollars at 26.
_BOUNDS_UUSD: Final = (0, MICRO_USD // 2, *(MICRO_USD * 2**power for power in range(24)))
PINNED: Final = len(_BOUNDS_UUSD) + 1
"""The ordinal above every bound: a penalty that no saving can outweigh."""


@dataclass(frozen=True, slots=True, order=True)
class PenaltyBucket:
    """A penalty rounded up to its bucket; the upper bound is None when pinned."""

    ordinal: int

    @property
    def bound_uusd(self) -> int | None:
        """Return the bucket's upper bound in micro-dollars, or None for the pinned bucket."""
        return None if self.ordinal == PINNED else _BOUNDS_UUSD[self.ordinal - 1]

    @property
    def label(self) -> str:
        """Return the bound in dollars as metric labels write it: `0`, `0.5`, `8`, `pinned`."""
        bound_uusd = self.bound_uusd
        return "pinned" if bound_uusd is None else f"{bound_uusd / MICRO_USD:.7g}"


def micro_usd(dollars: float) -> int:
    """Return whole micro-dollars of an amount as it was written."""
    return round(exact(dollars) * MICRO_USD)


def penalty_bucket(amount_uusd: int) -> PenaltyBucket:
    """Round a penalty up to the smallest bucket whose bound holds it; negative amounts count as nothing."""
    for ordinal, bound_uusd in enumerate(_BOUNDS_UUSD, start=1):
        if amount_uusd <= bound_uusd:
            return PenaltyBucket(ordinal)
    return PenaltyBucket(PINNED)
