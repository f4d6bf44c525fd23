"""Which gangs fit one machine: the engine folds those into plain demand (ADR-0041); their machines carry no group."""

from dataclasses import dataclass
from typing import Self

from scaletest.catalog import Sizing, Workload

__all__ = ["FoldLimits"]


@dataclass(frozen=True, slots=True)
class FoldLimits:
    """The largest gang, by archetype and size, whose whole request some machine of the fleet covers."""

    largest: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, sizing: Sizing, *, seeded: tuple[bool, ...]) -> Self:
        """Return the limits of a fleet in which the marked archetypes have machines.

        Another archetype's machines count when its instance types are acceptable: matching knows no archetypes.
        """
        shapes = [
            (set(kind.instance_types), kind.allocatable(size=size, density=sizing.density))
            for kind, there in zip(sizing.archetypes, seeded, strict=True)
            if there
            for size in range(len(kind.sizes))
        ]
        return cls(
            tuple(
                tuple(
                    max(
                        (
                            offer.how_many(size.request) or 0
                            for types, offer in shapes
                            if types & set(kind.instance_types)
                        ),
                        default=0,
                    )
                    for size in kind.sizes
                )
                for kind in sizing.archetypes
            )
        )

    def folds(self, workload: Workload) -> bool:
        """Say whether a gang fits one machine."""
        return workload.replicas <= self.largest[workload.archetype][workload.size]
