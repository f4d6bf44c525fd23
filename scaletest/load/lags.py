"""How late planned requests were sent, in little room: counts by lateness, rounded up to five significant bits."""

from collections import Counter
from typing import Final

__all__ = ["Lags"]

_BITS: Final = 5


class Lags:
    """Latenesses in microseconds. A quantile is the true one or at most 7 % above it, never below."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._total = 0

    def add(self, lag_us: int) -> None:
        """Count one."""
        if lag_us >> _BITS:
            shift = lag_us.bit_length() - _BITS
            lag_us = -(-lag_us >> shift) << shift
        self._counts[lag_us] += 1
        self._total += 1

    def quantile_us(self, share: float) -> int:
        """Return the nearest-rank quantile; 0 when nothing was counted."""
        rank = -int(-share * self._total // 1)
        for lag_us in sorted(self._counts):
            rank -= self._counts[lag_us]
            if rank <= 0:
                return lag_us
        return 0
