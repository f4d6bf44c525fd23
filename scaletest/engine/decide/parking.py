"""Aged parking: a gang that no domain can hold and that gets nothing stops acquiring, and tries again now and then.

A parked gang keeps what it has: its bound machines are credited and so protected, and it stays a shortfall.
"""

from collections.abc import Sequence

from scaletest.engine.decide.lines import Line
from scaletest.engine.decide.rules import Parking
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import ClassKey, Memory
from scaletest.model import Need

__all__ = ["class_key", "is_parked", "stalled_cycles", "stamps"]


def class_key(need: Need) -> ClassKey:
    """Return what parking counts a row under."""
    return ClassKey(need.cluster, need.group, need.profile.fingerprint)


def is_parked(age_cycles: int, parking: Parking) -> bool:
    """Say whether a gang that has stalled this long sits this cycle out."""
    if age_cycles < parking.after_cycles:
        return False
    every = parking.reprobe_every_cycles
    return every == 0 or age_cycles % every != 0


def stamps(lines: Sequence[Line], memory: Memory, parking: Parking | None) -> list[bool]:
    """Return for every row whether it is parked this cycle; only gangs ever are."""
    if parking is None or not memory.stalled_cycles:
        return [False] * len(lines)
    ages = memory.stalled_cycles
    return [line.ask.gang and is_parked(ages.get(class_key(line.need), 0), parking) for line in lines]


def stalled_cycles(turns: Sequence[Turn], memory: Memory, parking: Parking | None) -> dict[ClassKey, int]:
    """Return how long each gang has stalled after this cycle; one that moved, or could be held, starts over."""
    if parking is None:
        return {}
    ages: dict[ClassKey, int] = {}
    for turn in turns:
        if turn.gang and any(turn.wanted) and (_hopeless(turn) or not parking.only_when_hopeless):
            key = class_key(turn.need)
            ages[key] = memory.stalled_cycles.get(key, 0) + 1
    return ages


def _hopeless(turn: Turn) -> bool:
    return not turn.acquired and turn.choice is not None and not turn.choice.satisfiable
