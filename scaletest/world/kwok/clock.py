"""The run's clock on real ground: the monotonic clock, counted from an instant that all processes of a run share."""

import asyncio
import time
from typing import Final

__all__ = ["SystemClock"]

_NS_PER_US: Final = 1000
_US_PER_SECOND: Final = 1_000_000


class SystemClock:
    """Monotonic time since `zero_ns`; the monotonic clock is one for all processes of a machine."""

    def __init__(self, zero_ns: int) -> None:
        self.zero_ns = zero_ns

    @classmethod
    def starting_now(cls) -> "SystemClock":
        """Return a clock whose zero is this instant."""
        return cls(time.monotonic_ns())

    def now_us(self) -> int:
        """Return the instant."""
        return (time.monotonic_ns() - self.zero_ns) // _NS_PER_US

    async def sleep_until(self, at_us: int) -> None:
        """Wait for an instant; one that has passed only lets others go first."""
        # A timer of the loop may fire a little early; whoever waits for an instant must not wake before it.
        while (left_us := at_us - self.now_us()) > 0:  # noqa: ASYNC110 - time is what is waited for
            await asyncio.sleep(left_us / _US_PER_SECOND)
        await asyncio.sleep(0)
