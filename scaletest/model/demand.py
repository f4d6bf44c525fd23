"""What clusters ask for: the identity of demand (NeedProfile, its fingerprint, its group) and one row of it (Need)."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Final, Self

from scaletest.model.money import PenaltyBucket
from scaletest.model.resources import Resources

__all__ = [
    "INSTANCE_TYPE_KEY",
    "RACK_KEY",
    "ZONE_KEY",
    "Need",
    "NeedProfile",
    "Operator",
    "Requirement",
    "Spread",
    "group_name",
]

ZONE_KEY: Final = "topology.kubernetes.io/zone"
RACK_KEY: Final = "topology.bigfleet/rack"
INSTANCE_TYPE_KEY: Final = "node.kubernetes.io/instance-type"

_FINGERPRINT_HEX: Final = 24


class Operator(StrEnum):
    """How a requirement tests a label; SAME asks that all machines of a gang share one value of the key."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    SAME = "Same"


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One test on a machine's label; values are kept sorted by whoever builds a NeedProfile."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Spread:
    """A hard spread: values of the key may differ by at most `max_skew`. Soft spreads never become demand."""

    topology_key: str
    max_skew: int


@dataclass(frozen=True)
class NeedProfile:
    """The identity by which demand is aggregated. Resources, cluster and group are not part of it.

    Build it with `of`, which puts requirements and spreads into canonical order, so that equal demand has equal
    fingerprints whatever order it was written in.
    """

    requirements: tuple[Requirement, ...]
    spread: tuple[Spread, ...]
    priority: int
    interruption: PenaltyBucket
    reclamation: PenaltyBucket

    @classmethod
    def of(
        cls,
        *,
        requirements: tuple[Requirement, ...],
        priority: int,
        interruption: PenaltyBucket,
        reclamation: PenaltyBucket,
        spread: tuple[Spread, ...] = (),
    ) -> Self:
        """Return the canonical profile; it has at most one SAME requirement."""
        canonical = tuple(sorted(replace(r, values=tuple(sorted(set(r.values)))) for r in requirements))
        if sum(r.operator is Operator.SAME for r in canonical) > 1:
            raise ValueError("a profile has at most one Same requirement")
        return cls(canonical, tuple(sorted(spread)), priority, interruption, reclamation)

    @cached_property
    def fingerprint(self) -> str:
        """Return a short text that is equal exactly for equal profiles; it fits in a label value."""
        canonical = json.dumps(
            [
                [[r.key, r.operator, list(r.values)] for r in self.requirements],
                [[s.topology_key, s.max_skew] for s in self.spread],
                self.priority,
                self.interruption.ordinal,
                self.reclamation.ordinal,
            ],
            separators=(",", ":"),
        )
        return sha256(canonical.encode()).hexdigest()[:_FINGERPRINT_HEX]

    @cached_property
    def same_key(self) -> str | None:
        """Return the topology key the gang must share, or None for demand that may land anywhere."""
        return next((r.key for r in self.requirements if r.operator is Operator.SAME), None)

    @cached_property
    def without_same(self) -> "NeedProfile":
        """Return the profile of the same demand once its gangs fold into single machines."""
        kept = tuple(r for r in self.requirements if r.operator is not Operator.SAME)
        return replace(self, requirements=kept)


@dataclass(frozen=True, slots=True)
class Need:
    """One cluster's demand for one profile and group: how much in all, and the largest piece that cannot be split."""

    cluster: str
    profile: NeedProfile
    aggregate: Resources
    min_unit: Resources
    group: str = ""


def group_name(cluster: str, workload: str) -> str:
    """Return the canonical group of a gang. The cluster is part of it, so gangs of two clusters never share one."""
    return f"{cluster}/{workload}"
