"""What the engine tells about itself: every accepted action, what became of it, and every cycle. Values only."""

from typing import NamedTuple, Protocol

from scaletest.engine.decide import Action
from scaletest.model import Machine, Need

__all__ = ["ActionFact", "CycleFact", "CycleInputs", "Recorder"]


class ActionFact(NamedTuple):
    """An action that the execute pool accepted; `seq` is its counter series' value after the increment.

    `min_unit` is the largest piece of the row that it serves or served, as text; empty when nobody knows.
    """

    seq: int
    at_us: int
    action: Action
    min_unit: str
    cycle: int


class CycleFact(NamedTuple):
    """One decision cycle: what it saw and what it left behind."""

    cycle: int
    at_us: int
    duration_us: int
    """From the snapshot to the last action handed to the pool."""
    needs: int
    """Rows received."""
    gangs: int
    """Gangs that did not fold."""
    shortfalls: int
    oldest_shortfall_cycles: int
    shortfalls_batch: int
    shortfalls_service: int
    shortfalls_critical: int
    domain_flips: int
    """Gangs whose domain is not the last one they had."""
    claimed_set_changes: int
    """Gangs that hold other machines than in the cycle before, although their row is the same."""
    configured: int
    in_flight: int
    """Machines in a transitional state."""
    worst_reclaim_ppm: int
    """The largest share of one cluster's Configured machines that this cycle reclaims."""
    reclaims_before_rollup: int
    reclaims_of_unsatisfied: int
    """Reclaims of machines that match a row of their own cluster which is short in the same cycle."""


class CycleInputs(NamedTuple):
    """All that is needed to play a cycle again.

    Apply the changes to the fleet of the cycle before; each roll-up replaces its cluster's rows, clusters in order of
    their names; the memory is the one that the cycle before left.
    """

    cycle: int
    at_us: int
    changed: tuple[Machine, ...]
    removed: tuple[str, ...]
    rollups: tuple[tuple[str, tuple[Need, ...]], ...]
    heard: tuple[str, ...]
    """Clusters heard for the first time, sorted."""
    actions: tuple[Action, ...]


class Recorder(Protocol):
    """Who writes it down."""

    def accepted(self, fact: ActionFact) -> None:
        """Note an action, in the same step in which its counter rises."""

    def finished(self, kind: str, seq: int, outcome: str, evicted: int) -> None:
        """Note what became of an action, and how many Pods it evicted."""

    def cycle(self, fact: CycleFact, inputs: CycleInputs, compute_us: int) -> None:
        """Note a cycle; `compute_us` is processor time, which no two runs share."""
