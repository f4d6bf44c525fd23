"""Demand normalization: a gang that fits on one machine needs no shared domain, so it becomes plain demand.

Co-residency is automatic on a single machine; the unit of the folded row is one whole gang, so that only machines with
room for a whole gang count. Gangs of one cluster, profile and size share a row. Classified anew every cycle.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.lines import Ask, Line
from scaletest.engine.decide.lots import Amounts
from scaletest.engine.decide.rules import Fold
from scaletest.model import Need

__all__ = ["FitsOneMachine", "Normalize", "fold_of"]

FitsOneMachine = Callable[[Ask], bool]
Normalize = Callable[[Sequence[Line], FitsOneMachine], list[Line]]


def fold_of(fold: Fold) -> Normalize:
    """Return the normalization of a rule set."""
    return _FOLDS[fold]


def _sub_machine(lines: Sequence[Line], fits_one_machine: FitsOneMachine) -> list[Line]:
    # Gangs of one ask fold together or not at all, so the question is asked once per ask.
    sizes = Counter[Ask](map(attrgetter("ask"), lines))
    folding = {ask: gangs for ask, gangs in sizes.items() if ask.gang and fits_one_machine(ask)}
    rows = [line for line in lines if line.ask not in folding]
    rows.extend(_folded(asks[0], sum(folding[ask] for ask in asks)) for asks in _by_stripped_profile(folding))
    return rows


def _by_stripped_profile(folding: Mapping[Ask, int]) -> Iterable[list[Ask]]:
    """Join gangs that differ only in the key they wanted to share."""
    joined: dict[tuple[str, str, Amounts], list[Ask]] = {}
    for ask in folding:
        key = (ask.cluster, ask.profile.without_same.fingerprint, ask.aggregate.amounts)
        joined.setdefault(key, []).append(ask)
    return joined.values()


def _folded(ask: Ask, gangs: int) -> Line:
    known = ask.folded
    if known is not None and known.gangs == gangs:
        return known
    plain = Need(
        cluster=ask.cluster,
        profile=ask.profile.without_same,
        aggregate=ask.aggregate.times(gangs),
        min_unit=ask.aggregate,
    )
    ask.folded = Line(plain, Ask(plain), gangs)
    return ask.folded


def _never(lines: Sequence[Line], _fits_one_machine: FitsOneMachine) -> list[Line]:
    return list(lines)


_FOLDS: Final = MappingProxyType[Fold, Normalize]({Fold.SUB_MACHINE: _sub_machine, Fold.NEVER: _never})
