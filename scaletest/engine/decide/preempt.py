"""Phase 2: a row that is still short may drain machines configured for strictly lower priority.

Victims must be of use to the row: they match, hold one unit, and lie in the gang's domain; parked gangs and gangs
without a domain take none. A machine that a row of equal or higher priority holds this cycle is no victim. Freed
machines are acquired by a later cycle, once they are Idle.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import groupby
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lots import Lot
from scaletest.engine.decide.rules import Rules, VictimPriority, VictimScope
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import Action, Kind, ref_of
from scaletest.engine.decide.vectors import Vector
from scaletest.engine.decide.views import View, Views
from scaletest.model import US_PER_SECOND, MachineState, Resources

__all__ = ["Preempt", "Unresolved", "grace_us", "victim_score"]

Unresolved = list[tuple[Turn, Resources]]
Lower = Callable[[int, int], bool]
Segments = dict[Lot, list[tuple[int, int, Turn]]]

_GRACE: Final = ((900_000, 10), (500_000, 30), (100_000, 120))
_LONGEST_GRACE_S: Final = 600
# A tenth over a penalty in dollars, with penalties in micro-dollars and floored at a cent.
_PENALTY_WEIGHT: Final = 100_000
_PENALTY_FLOOR_UUSD: Final = 10_000

_LOWER: Final = MappingProxyType[VictimPriority, Lower](
    {
        VictimPriority.LOWER: lambda victim, preemptor: victim < preemptor,
        VictimPriority.LOWER_OR_EQUAL: lambda victim, preemptor: victim <= preemptor,
    }
)


def grace_us(gap: int) -> int:
    """Return how long a victim may take to drain: the wider the gap in priority, the shorter."""
    seconds = next((seconds for above, seconds in _GRACE if gap > above), _LONGEST_GRACE_S)
    return seconds * US_PER_SECOND


def victim_score(gap: int, interruption_uusd: int, reclamation_uusd: int) -> Fraction:
    """Return how good a victim is: a wide gap and cheap penalties. The drain term is the same for all and left out."""
    penalties = (interruption_uusd, reclamation_uusd)
    return Fraction(gap) + sum(Fraction(_PENALTY_WEIGHT, max(_PENALTY_FLOOR_UUSD, penalty)) for penalty in penalties)


class Preempt:
    """Phase 2 under one set of rules."""

    def __init__(self, fleet: Fleet, views: Views, rules: Rules) -> None:
        self._fleet = fleet
        self._views = views
        self._lower = _LOWER[rules.victim_priority]
        self._usable = rules.victim_scope is VictimScope.USABLE

    def run(self, turns: list[Turn]) -> tuple[list[Action], Unresolved]:
        """Return the preemptions, and every row that stays short with what it lacks after them."""
        short = [turn for turn in turns if any(turn.wanted)]
        actions: list[Action] = []
        unresolved: Unresolved = []
        if not short:
            return actions, unresolved
        held, gone = _segments(turns), set[str]()
        for turn in short:
            missing = self._drain_for(turn, actions, held=held, gone=gone)
            if any(missing):
                pairs = zip(turn.view.dims, missing, strict=True)
                unresolved.append((turn, Resources(tuple((name, left) for name, left in pairs if left))))
        return actions, unresolved

    def _drain_for(self, turn: Turn, actions: list[Action], *, held: Segments, gone: set[str]) -> list[int]:
        missing = list(turn.wanted)
        if self._usable and turn.gang and (turn.parked or turn.domain is None):
            return missing
        for machine, lot, vector in self._victims(turn, held):
            if machine in gone:
                continue
            if not any(missing):
                break
            missing = [max(0, want - have) for want, have in zip(missing, vector, strict=True)]
            gone.add(machine)
            actions.append(_preemption(turn, machine, lot))
        return missing

    def _victims(self, turn: Turn, held: Segments) -> Iterator[tuple[str, Lot, Vector]]:
        """Walk victims best first; machines are looked at only as far as they are needed."""
        lots = sorted(self._victim_lots(turn), key=lambda entry: -entry[0])
        for _, tied in groupby(lots, key=lambda entry: entry[0]):
            machines = [
                (machine, lot, vector) for _, lot, vector in tied for machine in self._drainable(turn, lot, held)
            ]
            yield from sorted(machines, key=lambda entry: entry[0])

    def _victim_lots(self, turn: Turn) -> Iterator[tuple[Fraction, Lot, Vector]]:
        priority = turn.need.profile.priority
        view: View = turn.view if self._usable else self._views.with_floor(turn.ask, floor=False)
        for pool in self._fleet.pools(MachineState.CONFIGURED):
            for lot in pool.lots():
                if not self._lower(lot.priority, priority):
                    continue
                place = view.place(lot.cell.shape)
                if place is not None and not (self._usable and turn.gang and place[1] != turn.domain):
                    gap = priority - lot.priority
                    yield victim_score(gap, lot.interruption_uusd, lot.reclamation_uusd), lot, place[0]

    def _drainable(self, turn: Turn, lot: Lot, held: Segments) -> list[str]:
        priority = turn.need.profile.priority
        barred: set[str] = set()
        for start, stop, holder in held.get(lot, ()):
            if holder is turn or not self._lower(holder.need.profile.priority, priority):
                barred.update(lot.ids[start:stop])
        return [machine for machine in lot.ids if machine not in barred]


def _segments(turns: list[Turn]) -> Segments:
    segments: Segments = {}
    for turn in turns:
        for lot, start, stop in turn.claims:
            segments.setdefault(lot, []).append((start, stop, turn))
    return segments


def _preemption(turn: Turn, machine: str, lot: Lot) -> Action:
    priority = turn.need.profile.priority
    gap = priority - lot.priority
    return Action(
        Kind.PREEMPT,
        machine,
        ref_of(turn.need),
        turn.domain,
        "phase2.inversion",
        f"priority {priority} is short and this machine serves priority {lot.priority}",
        grace_us(gap),
        priority,
    )
