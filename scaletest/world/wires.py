"""What a profile puts between agents and engine: when roll-ups leave, and in which order their rows come."""

from scaletest.model import Need, Stream, microseconds
from scaletest.profile.world import EmptyRollup, World

__all__ = ["NoCosts", "PlannedWire"]


class PlannedWire:
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


class NoCosts:
    """Durations of the engine's own work where it takes its own time."""

    def cycle_us(self, needs: int) -> int:  # noqa: ARG002 - the work itself takes its time
        """Return nothing."""
        return 0

    def rollup_us(self, pods: int, rows: int) -> int:  # noqa: ARG002
        """Return nothing."""
        return 0

    def acknowledge_us(self, requests: int) -> int:  # noqa: ARG002
        """Return nothing."""
        return 0

    def publish_us(self, machine: str, ordinal: int) -> int:  # noqa: ARG002
        """Return nothing."""
        return 0
