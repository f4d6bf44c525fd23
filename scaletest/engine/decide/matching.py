"""Which machines a profile can use: label tests per machine, and the floor every single machine has to reach."""

from collections.abc import Callable
from typing import Final

from scaletest.engine.decide.rules import Counting
from scaletest.model import NeedProfile, Operator, Requirement, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY

__all__ = ["PRESENT", "LabelOf", "counted", "matches", "presence_of", "visible_keys"]

LabelOf = Callable[[str], str | None]


def matches(profile: NeedProfile, label: LabelOf) -> bool:
    """Say whether one machine passes every test of a profile.

    Same only asks that the machine has a value here (one of those listed, if any are): that a gang shares it is a
    matter of choosing a domain, not of matching.
    """
    return all(_passes(requirement, label(requirement.key)) for requirement in profile.requirements)


def _passes(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.SAME:
            return value is not None and (not requirement.values or value in requirement.values)


PRESENT: Final = "*"
"""What a label reads as where only its presence is visible."""


def presence_of(key: str) -> str:
    """Return the name under which the mere presence of a label is visible."""
    return f"?{key}"


def visible_keys(profile: NeedProfile, *, as_gang: bool) -> tuple[tuple[str, ...] | None, frozenset[str]]:
    """Return the label keys this profile can tell machines apart by, and on which instance types (None is all).

    Before it is known whether a gang folds, it matters only that machines have a value of its topology key; which one
    matters once it is treated `as_gang`.
    """
    keys = {s.topology_key for s in profile.spread}
    for requirement in profile.requirements:
        only_presence = requirement.operator is Operator.SAME and not requirement.values and not as_gang
        keys.add(presence_of(requirement.key) if only_presence else requirement.key)
    pinned = [r.values for r in profile.requirements if r.key == INSTANCE_TYPE_KEY and r.operator is Operator.IN]
    return (pinned[0] if pinned else None), frozenset(keys)


def counted(allocatable: Resources, min_unit: Resources, *, counting: Counting) -> Resources:
    """Return what a machine counts for. Whole machines count whole: packing is the scheduler's business."""
    if counting is Counting.WHOLE_MACHINE:
        return allocatable
    units = allocatable.how_many(min_unit)
    return allocatable if units is None else min_unit.times(units)
