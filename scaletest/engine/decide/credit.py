"""The seed pre-pass: the only place where supply is credited to demand.

Capacity counts for a cluster exactly when it is bound to it (or being created for this very row). Rows take their turn
in order; each claims whole machines in keep order and stops when it is covered, so that what nobody claimed is the
excess. A gang first gets one domain for the cycle, chosen over what is bound and what could be acquired together.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.buckets import Bucket, Chooser, Measured, Yardstick, chooser, yardstick
from scaletest.engine.decide.fleet import Fleet, Lot, Pool
from scaletest.engine.decide.rules import ClaimOrder, CreditScope, Own, Rules
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import Choice
from scaletest.engine.decide.views import Run, Vector, keep_rank, runs_of
from scaletest.engine.decide.walk import claim
from scaletest.model import MachineState, Need

__all__ = ["ACQUIRABLE", "Credit"]

ACQUIRABLE: Final = (MachineState.IDLE, MachineState.SPECULATIVE)

OwnLots = Callable[[Pool, Need], Iterable[Lot]]
Sections = Iterable[list[Run]]
Placed = tuple[Lot, Vector, str]


def _own_by_group(pool: Pool, need: Need) -> Iterable[Lot]:
    groups = pool.owners.get(need.profile.fingerprint)
    return groups.get(need.group, ()) if groups else ()


def _own_by_fingerprint(pool: Pool, need: Need) -> Iterable[Lot]:
    return [lot for lots in pool.owners.get(need.profile.fingerprint, {}).values() for lot in lots]


_OWN: Final = MappingProxyType[Own, OwnLots](
    {Own.GROUP_AND_FINGERPRINT: _own_by_group, Own.FINGERPRINT: _own_by_fingerprint}
)


class _Tally:
    """What one domain holds for one gang, while it is being added up."""

    __slots__ = ("bound", "count", "own")

    def __init__(self, width: int) -> None:
        self.count = 0
        self.bound = [0] * width
        self.own = [0] * width


class Credit:
    """The pre-pass under one set of rules."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet = fleet
        self._chooser: Chooser = chooser(rules.criteria, serving_first=rules.serving_first)
        self._own = _OWN[rules.own]
        self._bound_states = tuple(s for s in rules.credited if s is not MachineState.CREATING)
        self._counts_creating = MachineState.CREATING in rules.credited
        self._claim_gang = _CLAIM_ORDERS[rules.claim_order]
        self._anywhere = rules.credit_scope is CreditScope.ANYWHERE
        self._consumes = rules.consumes_virtually

    def run(self, turns: list[Turn]) -> None:
        """Give every row its turn; leave the acquirable pools as they were."""
        for turn in turns:
            if turn.gang:
                self._gang(turn)
            else:
                self._plain(turn)
        self._fleet.untake(ACQUIRABLE)

    def _plain(self, turn: Turn) -> None:
        for pool in self._bound_pools(turn.need):
            if claim(turn.view.runs(pool), turn.wanted, turn.claims):
                return
        if self._counts_creating:
            pool = self._fleet.pool(MachineState.CREATING)
            mine = _own_by_fingerprint(pool, turn.need)
            claim(runs_of(_usable(turn, mine), keep_rank), turn.wanted, turn.claims)

    def _gang(self, turn: Turn) -> None:
        own = list(self._own_lots(turn))
        turn.choice = self._choose(turn, own)
        domain = turn.choice.domain
        if domain is None:
            return
        # Sections are sorted only if they are reached: a gang that its own machines cover never looks at them.
        pools = self._bound_pools(turn.need)
        if self._anywhere:
            sections = (turn.view.runs(pool) for pool in pools)
        else:
            own = [placed for placed in own if placed[2] == domain]
            sections = (turn.view.domain_runs(pool, domain) for pool in pools)
        if not self._claim_gang(turn, own, sections) and self._consumes and not turn.parked:
            self._consume(turn, domain)

    def _bound_pools(self, need: Need) -> list[Pool]:
        pools = [self._fleet.pool(state, need.cluster) for state in self._bound_states]
        return [pool for pool in pools if pool.count > pool.taken]

    def _own_lots(self, turn: Turn) -> Iterator[Placed]:
        """Walk the gang's own lots that still have machines: bound ones, then those being created."""
        pools = self._bound_pools(turn.need)
        if self._counts_creating:
            pools.append(self._fleet.pool(MachineState.CREATING))
        for pool in pools:
            for lot in self._own(pool, turn.need):
                place = turn.view.place(lot.cell.shape)
                if place is not None and len(lot.ids) > lot.taken:
                    yield lot, place[0], place[1]

    def _choose(self, turn: Turn, own: list[Placed]) -> Choice:
        tallies = self._bound_tallies(turn)
        _add_own(tallies, own, len(turn.wanted))
        measure = yardstick(tuple(turn.wanted))
        serving = [self._measured(turn, value, tally, measure) for value, tally in tallies.items()]
        unseen = self._chooser.serving_first and any(m.satisfiable and m.creditable for m in serving)
        if turn.parked or unseen:
            return self._chooser.choose(serving)
        empty = _Tally(len(turn.wanted))
        fresh = [
            self._measured(turn, value, empty, measure) for value in self._fresh_domains(turn) if value not in tallies
        ]
        return self._chooser.choose([m for m in (*serving, *fresh) if m.machines])

    def _bound_tallies(self, turn: Turn) -> dict[str, _Tally]:
        tallies: dict[str, _Tally] = {}
        width = len(turn.wanted)
        for pool in self._bound_pools(turn.need):
            for value, cells in turn.view.domains(pool).items():
                for cell, vector in cells:
                    free = cell.count - cell.taken
                    if free:
                        tally = tallies.get(value)
                        if tally is None:
                            tally = tallies[value] = _Tally(width)
                        tally.count += free
                        for index, have in enumerate(vector):
                            tally.bound[index] += free * have
        return tallies

    def _measured(self, turn: Turn, value: str, tally: _Tally, measure: Yardstick) -> Measured:
        count, total = tally.count, list(tally.bound)
        if not turn.parked:
            for state in ACQUIRABLE:
                for cell, vector in turn.view.domains(self._fleet.pool(state)).get(value, ()):
                    free = cell.count - cell.taken
                    if free:
                        count += free
                        for index, have in enumerate(vector):
                            total[index] += free * have
        return measure.measure(Bucket(value, count, total, tally.bound, tally.own))

    def _fresh_domains(self, turn: Turn) -> list[str]:
        pools = [turn.view.domains(self._fleet.pool(state)) for state in ACQUIRABLE]
        return list(dict.fromkeys(value for pool in pools for value in pool))

    def _consume(self, turn: Turn, domain: str) -> None:
        """Take what the gang is going to acquire out of sight of the gangs after it."""
        wanted = list(turn.wanted)
        for state in ACQUIRABLE:
            if claim(turn.view.domain_runs(self._fleet.pool(state), domain), wanted, []):
                return


def _add_own(tallies: dict[str, _Tally], own: list[Placed], width: int) -> None:
    for lot, vector, value in own:
        free = len(lot.ids) - lot.taken
        tally = tallies.get(value)
        if tally is None:
            tally = tallies[value] = _Tally(width)
        creating = lot.cell.pool.state is MachineState.CREATING
        for index, have in enumerate(vector):
            tally.own[index] += free * have
            if creating:
                tally.bound[index] += free * have
        if creating:
            tally.count += free


def _usable(turn: Turn, lots: Iterable[Lot]) -> Iterator[tuple[Lot, Vector]]:
    return ((lot, place[0]) for lot in lots if (place := turn.view.place(lot.cell.shape)) is not None)


def _section(lot: Lot) -> int:
    return _SECTIONS.index(lot.cell.pool.state)


_SECTIONS: Final = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)

ClaimGang = Callable[[Turn, list[Placed], Sections], bool]


def _own_runs(own: list[Placed]) -> list[Run]:
    return runs_of(((lot, vector) for lot, vector, _ in own), lambda lot: (_section(lot), *lot.keep))


def _incumbent_first(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    """Claim own machines first, each side in keep order: a maturing neighbour cannot push a serving machine out."""
    return claim(_own_runs(own), turn.wanted, turn.claims) or _keep_order(turn, [], sections)


def _incumbent_by_id(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    run = [(lot, vector) for lot, vector, _ in own]
    return claim([run] if run else [], turn.wanted, turn.claims) or _keep_order(turn, [], sections)


def _keep_order(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    creating = [placed for placed in own if placed[0].cell.pool.state is MachineState.CREATING]
    return any(claim(runs, turn.wanted, turn.claims) for runs in chain(sections, (_own_runs(creating),)))


_CLAIM_ORDERS: Final = MappingProxyType[ClaimOrder, ClaimGang](
    {
        ClaimOrder.INCUMBENT_FIRST: _incumbent_first,
        ClaimOrder.INCUMBENT_BY_ID: _incumbent_by_id,
        ClaimOrder.KEEP_ORDER: _keep_order,
    }
)
