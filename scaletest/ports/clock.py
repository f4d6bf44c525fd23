"""Time as a port: virtual in the simulated world, the system's monotonic clock elsewhere."""

from typing import Protocol

__all__ = ["Clock"]


class Clock(Protocol):
    """The run's clock; zero is the beginning of the run."""

    def now_us(self) -> int:
        """Return the instant."""

    async def sleep_until(self, at_us: int) -> None:
        """Wait for an instant; one that has passed only lets others go first."""
