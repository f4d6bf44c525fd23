"""The shortfall ledger: what is still missing after preemption, summed by profile and aged by the cycle.

It is a report. Nothing in the engine reads it to hold demand back.
"""

from scaletest.engine.decide.preempt import Unresolved
from scaletest.engine.decide.values import Memory, Shortfall
from scaletest.model import Resources

__all__ = ["shortfalls_of"]


def shortfalls_of(unresolved: Unresolved, memory: Memory) -> list[Shortfall]:
    """Return every profile's shortfall, highest priority first and older before younger."""
    missing: dict[str, Resources] = {}
    priority: dict[str, int] = {}
    for turn, left in unresolved:
        fingerprint = turn.need.profile.fingerprint
        missing[fingerprint] = missing.get(fingerprint, Resources()) + left
        priority[fingerprint] = turn.need.profile.priority
    found = [
        Shortfall(fingerprint, priority[fingerprint], left, memory.short_cycles.get(fingerprint, 0) + 1)
        for fingerprint, left in missing.items()
    ]
    return sorted(found, key=lambda short: (-short.priority, -short.age_cycles, short.fingerprint))
