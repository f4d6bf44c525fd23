"""From weights to machines: how many Pods and machines of each archetype a demand of P Pods means.

Exact fractions throughout, so that a floor or a largest remainder never hangs on the last bit of a float.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

from scaletest.catalog.archetypes import Archetype

__all__ = ["SERVICE_SIZES", "STATEFUL_REPLICAS_MAX", "Sizing", "apportion"]

SERVICE_SIZES: Final = ((55, 1, 5), (30, 6, 25), (12, 26, 100), (3, 101, 400))
"""Replicas of a workload that is no gang: (weight, smallest, largest), even inside each range."""

STATEFUL_REPLICAS_MAX: Final = 25


def apportion(total: int, shares: Sequence[Fraction]) -> list[int]:
    """Split a whole number in proportion to the shares: floors first, the rest by largest remainder, ties in order."""
    whole = sum(shares)
    if total <= 0 or not whole:
        return [0] * len(shares)
    exact = [total * share / whole for share in shares]
    parts = [value.numerator // value.denominator for value in exact]
    by_remainder = sorted(range(len(shares)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


@dataclass(frozen=True)
class Sizing:
    """The share arithmetic of a catalog at one density."""

    archetypes: tuple[Archetype, ...]
    density: int

    @cached_property
    def pods_per_machine(self) -> tuple[int, ...]:
        """Return Pods per machine of each archetype."""
        return tuple(a.pods_per_machine(self.density) for a in self.archetypes)

    @cached_property
    def pod_shares(self) -> tuple[Fraction, ...]:
        """Return each archetype's share of the Pods; archetypes that only burst have none."""
        weights = [Fraction(0) if a.burst_only else a.weight * expected_replicas(a) for a in self.archetypes]
        total = sum(weights) or 1
        return tuple(weight / total for weight in weights)

    @cached_property
    def machine_shares(self) -> tuple[Fraction, ...]:
        """Return each archetype's share of the machines."""
        needed = [share / per for share, per in zip(self.pod_shares, self.pods_per_machine, strict=True)]
        total = sum(needed) or 1
        return tuple(part / total for part in needed)

    @cached_property
    def gang_floors(self) -> tuple[int, ...]:
        """Return the machines each gang archetype needs at least: one largest gang in every zone."""
        return tuple(0 if a.burst_only or not a.gang else a.gang.largest * len(a.zones) for a in self.archetypes)

    def effective_machines(self, pods: int) -> int:
        """Return the machines that a demand of so many Pods really needs."""
        return sum(
            ceil(pods * share / per) + floor
            for share, per, floor in zip(self.pod_shares, self.pods_per_machine, self.gang_floors, strict=True)
        )

    def allocate(self, machines: int) -> tuple[int, ...]:
        """Return one tier's machines by archetype; gang floors are raised last, so the sum may exceed the request."""
        if machines <= 0:
            return (0,) * len(self.archetypes)
        parts = apportion(machines, self.machine_shares)
        return tuple(max(part, floor) for part, floor in zip(parts, self.gang_floors, strict=True))

    def quota(self, pods: int) -> list[int]:
        """Return how many of so many Pods belong to each archetype."""
        return apportion(pods, self.pod_shares)


def expected_replicas(archetype: Archetype) -> Fraction:
    """Return the mean number of replicas of one workload object."""
    if archetype.gang:
        return Fraction(archetype.gang.smallest + archetype.gang.largest, 2)
    cap = STATEFUL_REPLICAS_MAX if archetype.stateful else SERVICE_SIZES[-1][2]
    total = sum(weight for weight, _, _ in SERVICE_SIZES)
    return sum(
        (Fraction(weight, total) * _mean_capped(low, high, cap) for weight, low, high in SERVICE_SIZES), Fraction(0)
    )


def _mean_capped(low: int, high: int, cap: int) -> Fraction:
    return Fraction(sum(min(value, cap) for value in range(low, high + 1)), high - low + 1)
