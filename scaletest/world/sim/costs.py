"""Durations that only real machines have, modelled in one place; docs/fidelity.md lists them."""

from typing import Final

from scaletest.model import Stream
from scaletest.model.latency import Delay
from scaletest.profile.world import World

__all__ = ["SimCosts"]

_ROLLUP_BASE_US: Final = 5_000
_ROLLUP_PER_POD_US: Final = 4
_PATCH_US: Final = 5_000
_PATCHES_AT_ONCE: Final = 16
_PUBLISH: Final = Delay.of(p50_us=50_000, p99_us=200_000)


class SimCosts:
    """Modelled durations of the engine's own work."""

    def __init__(self, world: World, *, seed: int) -> None:
        self._base_us = round(world.cycle.base_milliseconds * 1000)
        self._per_need = world.cycle.per_need_microseconds
        self._seed = seed

    def cycle_us(self, needs: int) -> int:
        """Return the duration of a decision cycle."""
        return self._base_us + round(self._per_need * needs)

    def rollup_us(self, pods: int, rows: int) -> int:
        """Return how long building and sending a roll-up takes; its rows are few beside the Pods behind them."""
        return _ROLLUP_BASE_US + _ROLLUP_PER_POD_US * pods + rows

    def acknowledge_us(self, requests: int) -> int:
        """Return how long marking requests takes, so many patches at once."""
        return -(-requests // _PATCHES_AT_ONCE) * _PATCH_US

    def publish_us(self, machine: str, ordinal: int) -> int:
        """Return how long telling a cluster about a machine's new state takes."""
        return _PUBLISH.draw(Stream.of(self._seed, "publish", machine), ordinal)
