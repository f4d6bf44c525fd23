"""Demand against supply, archetype by archetype: who gets machines when priority is the only throttle."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scaletest.catalog.sizing import apportion
from scaletest.model import Resources
from scaletest.plan.inventory import Inventory, Tier

__all__ = ["Claim", "Gap", "gaps"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Pods of one archetype that want machines, at a priority."""

    archetype: int
    pods: int
    priority: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Pods of a claim for which no acceptable machine is left in any tier."""

    claim: Claim
    pods: int


@dataclass(slots=True)
class _Lot:
    """Machines of one archetype and instance type, all tiers together; on average alike in size."""

    archetype: int
    instance_type: str
    offer: Resources
    machines: int


def gaps(inventory: Inventory, claims: Sequence[Claim]) -> list[Gap]:
    """Serve the claims by falling priority from every tier, own machines first; return what is left unserved.

    Machines count as average ones, so this tells a shortage from a fit, not one machine more or less.
    """
    lots = _lots(inventory)
    missing = []
    for claim in sorted(claims, key=lambda c: (-c.priority, c.archetype)):
        left = _serve(inventory, claim, lots)
        if left > 0:
            missing.append(Gap(claim, left))
    return missing


def _serve(inventory: Inventory, claim: Claim, lots: list[_Lot]) -> int:
    kind = inventory.sizing.archetypes[claim.archetype]
    request = _average([(size.weight, size.request) for size in kind.sizes])
    left = claim.pods
    for lot in sorted(lots, key=lambda lot: (lot.archetype != claim.archetype, lot.archetype)):
        own = lot.archetype == claim.archetype
        each = inventory.sizing.pods_per_machine[claim.archetype] if own else lot.offer.how_many(request) or 0
        if left <= 0 or not each or lot.instance_type not in kind.instance_types:
            continue
        used = min(lot.machines, -(-left // each))
        lot.machines -= used
        left -= used * each
    return max(0, left)


def _lots(inventory: Inventory) -> list[_Lot]:
    density = inventory.sizing.density
    lots = []
    for archetype, kind in enumerate(inventory.sizing.archetypes):
        offers = [(size.weight, kind.allocatable(size=s, density=density)) for s, size in enumerate(kind.sizes)]
        machines = sum(inventory.counts(tier)[archetype] for tier in Tier)
        types = kind.instance_types
        for instance_type, share in zip(types, apportion(machines, [Fraction(1)] * len(types)), strict=True):
            lots.append(_Lot(archetype, instance_type, _average(offers), share))
    return lots


def _average(weighted: list[tuple[int, Resources]]) -> Resources:
    total = sum(weight for weight, _ in weighted)
    amounts: dict[str, int] = {}
    for weight, resources in weighted:
        for name, amount in resources:
            amounts[name] = amounts.get(name, 0) + weight * amount
    return Resources.of({name: amount // total for name, amount in amounts.items()})
