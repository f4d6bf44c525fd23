"""A gang's domain: what every domain holds for it, bound and acquirable, and the choice among them.

The order of `buckets` is the law. What this module adds is not looking: a domain that the gang's own machines cover
cannot be beaten, and neither can one that bound machines cover, so supply is added up only where it can still matter.
"""

from collections.abc import Callable, Iterable
from operator import ge
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.buckets import Bucket, Measured, Yardstick, chooser, yardstick
from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lines import Ask
from scaletest.engine.decide.lots import Lot, Pool
from scaletest.engine.decide.rules import Criterion, Own, Rules
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import Choice, Rule
from scaletest.engine.decide.vectors import Place, Vector
from scaletest.model import MachineState, Need

__all__ = ["ACQUIRABLE", "Domains", "Placed", "own_by_fingerprint"]

ACQUIRABLE: Final = (MachineState.IDLE, MachineState.SPECULATIVE)

OwnLots = Callable[[Pool, Need], Iterable[Lot]]
Placed = tuple[Lot, Vector, str]
"""A lot that the gang can use: the lot, what one machine of it counts for, its domain."""
Held = dict[Vector, dict[str, int]]
"""Machines by what they count for and by domain. Most profiles see one kind only, so a count per domain says it all."""


def _own_by_group(pool: Pool, need: Need) -> Iterable[Lot]:
    groups = pool.owners.get(need.profile.fingerprint)
    holding = groups.get(need.group) if groups else None
    return holding.lots if holding is not None else ()


def own_by_fingerprint(pool: Pool, need: Need) -> Iterable[Lot]:
    """Return the lots attributed to a profile, whatever their group."""
    return [lot for holding in pool.owners.get(need.profile.fingerprint, {}).values() for lot in holding.lots]


_OWN: Final = MappingProxyType[Own, OwnLots](
    {Own.GROUP_AND_FINGERPRINT: _own_by_group, Own.FINGERPRINT: own_by_fingerprint}
)


class _Table:
    """What is bound for one profile in one cluster, and the number of claims it accounts for."""

    __slots__ = ("claimed", "cluster", "held", "pools", "view")

    def __init__(self, turn: Turn, *, claimed: int, pools: int, held: Held) -> None:
        self.view = turn.view
        self.cluster = turn.need.cluster
        self.claimed = claimed
        self.pools = pools
        self.held = held

    def is_for(self, turn: Turn) -> bool:
        return self.view is turn.view and self.cluster == turn.need.cluster

    def take(self, place: Place, count: int) -> None:
        vector, value = place
        self.claimed += count
        counts = self.held[vector]
        counts[value] -= count
        if not counts[value]:
            del counts[value]


class Domains:
    """The domain choice under one set of rules."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet = fleet
        self._chooser = chooser(rules.criteria, serving_first=rules.serving_first)
        self._own = _OWN[rules.own]
        self._own_settles = rules.own_settles
        self._quick = rules.own_settles and rules.criteria[3][0] is Criterion.LEAST_OVERCOMMITTED
        self._counts_creating = MachineState.CREATING in rules.credited
        self._table: _Table | None = None

    def own_lots(self, turn: Turn, bound: list[Pool]) -> list[Placed]:
        """Return the gang's own lots that still have machines: bound ones, then those being created."""
        pools = [*bound, self._fleet.pool(MachineState.CREATING)] if self._counts_creating else bound
        found: list[Placed] = []
        for pool in pools:
            for lot in self._own(pool, turn.need):
                place = turn.view.place(lot.cell.shape)
                if place is not None and lot.count > lot.taken:
                    found.append((lot, place[0], place[1]))
        return found

    def homes(self, turn: Turn, own: list[Placed]) -> list[str]:
        """Return the domains in which the gang's own machines cover it."""
        return _covered(_by_domain(own), turn.ask)

    def choose(self, turn: Turn, bound: list[Pool], own: list[Placed]) -> Choice:
        """Return the gang's domain for this cycle and the rule that decided; note if bound machines alone did."""
        mine = _by_domain(own)
        if self._own_settles:
            homes = _covered(mine, turn.ask)
            if len(homes) == 1:
                turn.local = True
                return Choice(homes[0], Rule.OWN, satisfiable=True)
        held = _with_creating(self._bound_table(turn, bound), own)
        full = _covered(held, turn.ask) if self._quick else []
        if len(full) == 1:
            turn.local = True
            return Choice(full[0], Rule.CREDITABLE, satisfiable=True)
        measure = yardstick(turn.ask.wanted)
        if full:
            return self._among_full(turn, held=held, mine=mine, full=full, measure=measure)
        return self._among_all(turn, held=held, mine=mine, measure=measure)

    def _bound_table(self, turn: Turn, pools: list[Pool]) -> Held:
        """Return what is bound and unclaimed by domain. Gangs of one profile and cluster share the table in a row."""
        claimed = sum([pool.taken for pool in pools])
        table = self._table
        if table is not None and table.is_for(turn) and table.claimed == claimed and table.pools == len(pools):
            return table.held
        self._table = _Table(turn, claimed=claimed, pools=len(pools), held=_bound(turn, pools))
        return self._table.held

    def note_claims(self, turn: Turn) -> None:
        """Take a gang's claims out of the table, so that the next gang need not add everything up again."""
        table = self._table
        if table is not None and table.is_for(turn):
            for lot, start, stop in turn.claims:
                place = turn.view.places[lot.cell.shape]
                if place is not None and lot.cell.pool.state is not MachineState.CREATING:
                    table.take(place, stop - start)

    def note_kind(self, turn: Turn, place: Place, bound: int) -> None:
        """Take claims of one kind out of the table."""
        table = self._table
        if bound and table is not None and table.is_for(turn):
            table.take(place, bound)

    def start(self) -> None:
        """Forget the table: a new pass begins."""
        self._table = None

    def _among_full(self, turn: Turn, *, held: Held, mine: Held, full: list[str], measure: Yardstick) -> Choice:
        """Choose among domains whose bound machines cover the gang: rules 1 and 2 tie, so 2b, 3, 6 and 7 remain."""
        width = len(turn.wanted)
        owned = {value: measure.capped(_sum(mine, value, width)) for value in _values(mine) if value in full}
        most = max(owned.values(), default=0)
        tied = [value for value, share in owned.items() if share == most] if most else full
        if len(tied) == 1:
            turn.local = True
            return Choice(tied[0], Rule.OWN, satisfiable=True)
        first, second = sorted(self._joint(turn, value, held, measure) for value in tied)[:2]
        rules = (Rule.LEAST_OVERCOMMITTED, Rule.COUNT, Rule.VALUE)
        rule = next(rule for rule, best, rival in zip(rules, first, second, strict=True) if best != rival)
        return Choice(first[2], rule, satisfiable=True)

    def _joint(self, turn: Turn, value: str, held: Held, measure: Yardstick) -> tuple[int, int, str]:
        """Return a covered domain's sort key by rules 3, 6 and 7."""
        # One machine's share of the joint total is a number, so the sum needs no vectors.
        joint = machines = 0
        free = {} if turn.parked else self._acquirable(turn, value)
        for vector, count in (*_kinds(held, value), *free.items()):
            joint += count * measure.uncapped(vector)
            machines += count
        return joint, -machines, value

    def _among_all(self, turn: Turn, *, held: Held, mine: Held, measure: Yardstick) -> Choice:
        values = _values(held)
        serving = [self._measured(turn, value, held=held, mine=mine, measure=measure) for value in values]
        unseen = self._chooser.serving_first and any(m.satisfiable and m.creditable for m in serving)
        if not turn.parked and not unseen:
            pools = [turn.view.domains(self._fleet.pool(state)) for state in ACQUIRABLE]
            fresh = dict.fromkeys(value for pool in pools for value in pool if value not in values)
            serving += [self._measured(turn, value, held=held, mine=mine, measure=measure) for value in fresh]
        return self._chooser.choose([bucket for bucket in serving if bucket.machines])

    def _measured(self, turn: Turn, value: str, *, held: Held, mine: Held, measure: Yardstick) -> Measured:
        width = len(turn.wanted)
        bound = total = _sum(held, value, width)
        machines = sum(count for _, count in _kinds(held, value))
        free = {} if turn.parked else self._acquirable(turn, value)
        if free:
            machines += sum(free.values())
            total = [one + other for one, other in zip(bound, _total(free.items(), width), strict=True)]
        return measure.measure(Bucket(value, machines, total, bound, _sum(mine, value, width)))

    def _acquirable(self, turn: Turn, value: str) -> dict[Vector, int]:
        found: dict[Vector, int] = {}
        for state in ACQUIRABLE:
            for cell, vector in turn.view.domains(self._fleet.pool(state)).get(value, ()):
                free = cell.count - cell.taken
                if free:
                    found[vector] = found.get(vector, 0) + free
        return found


def _by_domain(own: list[Placed]) -> Held:
    held: Held = {}
    for placed in own:
        _add(held, placed)
    return held


def _add(held: Held, placed: Placed) -> None:
    lot, vector, value = placed
    counts = held.setdefault(vector, {})
    counts[value] = counts.get(value, 0) + lot.count - lot.taken


def _bound(turn: Turn, pools: list[Pool]) -> Held:
    """Add up the cluster's unclaimed bound machines by domain."""
    held: Held = {}
    for pool in pools:
        for value, cell, vector in turn.view.placed(pool):
            free = cell.count - cell.taken
            if free:
                counts = held.get(vector)
                if counts is None:
                    counts = held[vector] = {}
                counts[value] = counts.get(value, 0) + free
    return held


def _with_creating(held: Held, own: list[Placed]) -> Held:
    """Return the table with the gang's machines in creation added, which are nobody else's business."""
    creating = [placed for placed in own if placed[0].cell.pool.state is MachineState.CREATING]
    if not creating:
        return held
    held = {vector: dict(counts) for vector, counts in held.items()}
    for placed in creating:
        _add(held, placed)
    return held


def _covered(held: Held, ask: Ask) -> list[str]:
    """Return the domains whose machines cover what is asked for."""
    if len(held) == 1:
        ((vector, counts),) = held.items()
        least = ask.machines_of(vector)
        return [value for value, count in counts.items() if count >= least]
    width = len(ask.wanted)
    return [value for value in _values(held) if all(map(ge, _sum(held, value, width), ask.wanted))]


def _values(held: Held) -> dict[str, None]:
    return dict.fromkeys([value for counts in held.values() for value in counts])


def _kinds(held: Held, value: str) -> list[tuple[Vector, int]]:
    """Return what one domain holds."""
    return [(vector, counts[value]) for vector, counts in held.items() if value in counts]


def _sum(held: Held, value: str, width: int) -> list[int]:
    return _total(_kinds(held, value), width)


def _total(kinds: Iterable[tuple[Vector, int]], width: int) -> list[int]:
    total = [0] * width
    for vector, count in kinds:
        for index, have in enumerate(vector):
            total[index] += count * have
    return total
