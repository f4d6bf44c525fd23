"""What a world may put around the engine: how roll-ups travel, and how long modelled work takes."""

from typing import Protocol

from scaletest.model import Need

__all__ = ["Costs", "Wire"]


class Wire(Protocol):
    """What lies between an agent and the shard; a world may disturb it."""

    def pause_us(self, ordinal: int) -> int:
        """Return the time before a roll-up, counted from the one before it; number 0 is the first."""

    def rows(self, ordinal: int, rows: tuple[Need, ...], now_us: int) -> tuple[Need, ...]:
        """Return a roll-up as it arrives: the rows in some order, or none of them."""


class Costs(Protocol):
    """Modelled durations in microseconds; all zero where the real work takes its own time."""

    def cycle_us(self, needs: int) -> int:
        """Return how long a cycle over so many rows takes."""

    def rollup_us(self, pods: int, rows: int) -> int:
        """Return how long it takes to build and send a roll-up."""

    def acknowledge_us(self, requests: int) -> int:
        """Return how long it takes to acknowledge so many requests, before the API's own time."""

    def publish_us(self, machine: str, ordinal: int) -> int:
        """Return how long it takes to publish the n-th change of a machine to its cluster."""
