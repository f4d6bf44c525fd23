"""Demand normalization: a gang that fits on one machine needs no shared domain, so it becomes plain demand.

Co-residency is automatic on a single machine; the unit of the folded row is one whole gang, so that only machines with
room for a whole gang count. Gangs of one cluster, profile and size share a row. Classified anew every cycle.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.rules import Fold
from scaletest.engine.decide.values import Row
from scaletest.model import Need

__all__ = ["FitsOneMachine", "Normalize", "fold_of"]

FitsOneMachine = Callable[[Need], bool]
Normalize = Callable[[Sequence[Need], FitsOneMachine], list[Row]]


def fold_of(fold: Fold) -> Normalize:
    """Return the normalization of a rule set."""
    return _FOLDS[fold]


def _sub_machine(needs: Sequence[Need], fits_one_machine: FitsOneMachine) -> list[Row]:
    rows: list[Row] = []
    gangs: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Need]] = {}
    for need in needs:
        profile = need.profile
        if profile.same_key is None or not fits_one_machine(need):
            rows.append(Row(need))
            continue
        key = (need.cluster, profile.without_same.fingerprint, need.aggregate.amounts)
        members = gangs.get(key)
        if members is None:
            gangs[key] = [need]
        else:
            members.append(need)
    rows.extend(_folded(members) for members in gangs.values())
    return rows


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
