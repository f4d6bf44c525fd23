"""Amounts as bare tuples over the dimensions that a row asks for, and how many machines of one kind cover them."""

from collections.abc import Sequence
from typing import Final

__all__ = ["Place", "Vector", "needed"]

Vector = tuple[int, ...]
Place = tuple[Vector, str]
"""What one machine counts for, and its domain."""

_ENDLESS: Final = 1 << 62


def needed(wanted: Sequence[int], vector: Vector) -> int:
    """Return how many machines of this vector cover what is wanted; practically endless if they never do."""
    count = 0
    for want, have in zip(wanted, vector, strict=True):
        if want > 0:
            if have <= 0:
                return _ENDLESS
            enough = -(-want // have)
            if enough > count:  # noqa: PLR1730  # the call of max is a third of this loop
                count = enough
    return count
