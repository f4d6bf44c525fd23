"""Demand normalization: a gang that fits on one machine needs no shared domain, so it becomes plain demand.

Co-residency is automatic on a single machine; the unit of the folded row is one whole gang, so that only machines with
room for a whole gang count. Gangs of one cluster, profile and size share a row. Classified anew every cycle.
"""

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.rules import Fold
from scaletest.engine.decide.values import Row
from scaletest.model import Need

__all__ = ["FitsOneMachine", "Normalize", "fold_of"]

FitsOneMachine = Callable[[Need], bool]
Amounts = tuple[tuple[str, int], ...]
Normalize = Callable[[Sequence[Need], FitsOneMachine], list[Row]]


_UNFOLDABLE: Final[list[Need]] = []


def fold_of(fold: Fold) -> Normalize:
    """Return the normalization of a rule set."""
    return _FOLDS[fold]


def _sub_machine(needs: Sequence[Need], fits_one_machine: FitsOneMachine) -> list[Row]:
    rows: list[Row] = []
    # Gangs of one cluster, profile and size fold together or not at all, so the question is asked once per class.
    classes: dict[tuple[str, str, Amounts], list[Need]] = {}
    for need in needs:
        profile = need.profile
        if profile.same_key is None:
            rows.append(Row(need))
            continue
        key = (need.cluster, profile.fingerprint, need.aggregate.amounts)
        members = classes.get(key)
        if members is None:
            members = classes[key] = [] if fits_one_machine(need) else _UNFOLDABLE
        if members is _UNFOLDABLE:
            rows.append(Row(need))
        else:
            members.append(need)
    rows.extend(_folded(members) for members in _by_stripped_profile(classes.values()))
    return rows


def _by_stripped_profile(classes: Iterable[list[Need]]) -> Iterable[list[Need]]:
    """Join classes that differ only in the key their gangs wanted to share."""
    joined: dict[tuple[str, str, Amounts], list[Need]] = {}
    for members in classes:
        if members:
            first = members[0]
            key = (first.cluster, first.profile.without_same.fingerprint, first.aggregate.amounts)
            joined.setdefault(key, []).extend(members)
    return joined.values()


def _folded(members: list[Need]) -> Row:
    first = members[0]
    plain = Need(
        cluster=first.cluster,
        profile=first.profile.without_same,
        aggregate=first.aggregate.times(len(members)),
        min_unit=first.aggregate,
    )
    return Row(plain, gangs=len(members))


def _never(needs: Sequence[Need], _fits_one_machine: FitsOneMachine) -> list[Row]:
    return [Row(need) for need in needs]


_FOLDS: Final = MappingProxyType[Fold, Normalize]({Fold.SUB_MACHINE: _sub_machine, Fold.NEVER: _never})
