"""What lies between agents and the engine in the simulated world: when roll-ups leave, in which order their rows come.

The durations that only real machines have are modelled here too, in one place; docs/fidelity.md lists them.
"""

from typing import Final

from scaletest.model import Need, Stream, microseconds
from scaletest.model.latency import Delay
from scaletest.profile.world import EmptyRollup, World

__all__ = ["SimCosts", "SimWire"]

_ROLLUP_BASE_US: Final = 5_000
_ROLLUP_PER_POD_US: Final = 4
_PATCH_US: Final = 5_000
_PATCHES_AT_ONCE: Final = 16
_PUBLISH: Final = Delay.of(p50_us=50_000, p99_us=200_000)


class SimWire:
    """One cluster's way to the engine."""

    def __init__(self, world: World, *, cluster: str, ordinal: int, seed: int) -> None:
        self._world = world
        self._timing = Stream.of(seed, "rollup-timing", cluster)
        self._order = Stream.of(seed, "row-order", cluster)
        self._interval_us = microseconds(world.rollup_interval_seconds)
        self._jitter_us = min(microseconds(world.rollup_jitter_seconds), self._interval_us - 1)
        self._empty: list[EmptyRollup] = sorted(
            (empty for empty in world.empty_rollups if empty.cluster == ordinal), key=lambda empty: empty.at_seconds
        )
        self._soak_start_us: int | None = None

    def start_soak(self, at_us: int) -> None:
        """Note when the soak starts: planned disturbances count from there."""
        self._soak_start_us = at_us

    def pause_us(self, ordinal: int) -> int:
        """Return the time before the n-th roll-up; clusters begin spread over one interval, as they connect."""
        if ordinal == 0:
            return microseconds(self._world.late_first_rollup_seconds) + self._timing.below(self._interval_us, 0)
        return self._interval_us + self._timing.between(-self._jitter_us, self._jitter_us, ordinal)

    def rows(self, ordinal: int, rows: tuple[Need, ...], now_us: int) -> tuple[Need, ...]:
        """Return the rows as they arrive."""
        if self._is_empty(now_us):
            return ()
        if self._world.row_order == "shuffled":
            draws = Stream(self._order.bits(ordinal))
            return tuple(rows[n] for n in sorted(range(len(rows)), key=draws.bits))
        rows = tuple(sorted(rows, key=lambda need: (need.profile.fingerprint, need.group)))
        turn = ordinal % len(rows) if rows and self._world.row_order == "rotated" else 0
        return rows[turn:] + rows[:turn]

    def _is_empty(self, now_us: int) -> bool:
        start_us = self._soak_start_us
        if start_us is None or not self._empty or now_us < start_us + microseconds(self._empty[0].at_seconds):
            return False
        self._empty.pop(0)
        return True


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
