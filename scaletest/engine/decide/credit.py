"""The seed pre-pass: the only place where supply is credited to demand.

Capacity counts for a cluster exactly when it is bound to it (or being created for this very row). Rows take their turn
in order; each claims whole machines in keep order and stops when it is covered, so that what nobody claimed is the
excess. A gang first gets one domain for the cycle, chosen over what is bound and what could be acquired together.
Among rows of one priority, gangs that their own machines cover go before all others: a peer that is short acquires, it
does not take what serves them.
"""

from collections.abc import Callable, Iterable
from itertools import chain, groupby
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.domains import ACQUIRABLE, Domains, Placed, own_by_fingerprint
from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lots import Holding, Lot, Pool, Sight
from scaletest.engine.decide.rules import ClaimOrder, CreditScope, Own, Rules
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.views import Offers, keep_rank
from scaletest.engine.decide.walk import claim
from scaletest.model import MachineState, Need

__all__ = ["Credit"]

Sections = Iterable[Offers]
ClaimGang = Callable[[Turn, list[Placed], Sections], bool]


class Credit:
    """The pre-pass under one set of rules."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet = fleet
        self._domains = Domains(fleet, rules)
        self._credited = rules.credited
        self._bound_states = tuple(s for s in rules.credited if s is not MachineState.CREATING)
        self._counts_creating = MachineState.CREATING in rules.credited
        self._claim_gang = _CLAIM_ORDERS[rules.claim_order]
        self._anywhere = rules.credit_scope is CreditScope.ANYWHERE
        self._served_first = rules.served_first
        self._served_often = (
            rules.own_settles
            and rules.own is Own.GROUP_AND_FINGERPRINT
            and rules.claim_order is ClaimOrder.INCUMBENT_FIRST
        )
        self._consumes = rules.consumes_virtually

    def run(self, turns: list[Turn]) -> None:
        """Give every row its turn that is not settled; leave the acquirable pools as they were."""
        self._domains.start()
        open_turns = [turn for turn in turns if not turn.local]  # the others were settled in the last cycle
        for _, peers in groupby(open_turns, key=_priority):
            for turn in self._without_served(peers) if self._served_first else peers:
                if turn.gang:
                    self._gang(turn)
                else:
                    self._plain(turn)
        self._fleet.untake(ACQUIRABLE)

    def _without_served(self, peers: Iterable[Turn]) -> list[Turn]:
        """Give gangs that their own machines cover their turn; return the rows whose turn is still to come."""
        return [turn for turn in peers if not (turn.gang and self._served(turn))]

    def _served(self, turn: Turn) -> bool:
        """Claim for a gang whose own machines in one domain cover it; say whether it is one."""
        if self._served_often and self._still_served(turn):
            return True
        pools = self._bound_pools(turn.need)
        own = self._domains.own_lots(turn, pools)
        if not own or not self._domains.homes(turn, own):
            return False
        self._settle(turn, pools, own)
        return True

    def _plain(self, turn: Turn) -> None:
        for pool in self._bound_pools(turn.need):
            if claim(turn.view.offers(pool), keep_rank, turn.wanted, turn.claims):
                turn.local = True
                return
        if self._counts_creating:
            pool = self._fleet.pool(MachineState.CREATING)
            mine = own_by_fingerprint(pool, turn.need)
            claim(_usable(turn, mine), keep_rank, turn.wanted, turn.claims)

    def _gang(self, turn: Turn) -> None:
        pools = self._bound_pools(turn.need)
        self._settle(turn, pools, self._domains.own_lots(turn, pools))

    def _settle(self, turn: Turn, pools: list[Pool], own: list[Placed]) -> None:
        """Choose a gang's domain and claim there; what it is going to acquire goes out of sight."""
        turn.choice = self._domains.choose(turn, pools, own)
        domain = turn.choice.domain
        if domain is None:
            return
        # Sections are sorted only if they are reached: a gang that its own machines cover never looks at them.
        if self._anywhere:
            sections = (turn.view.offers(pool) for pool in pools)
        else:
            own = [placed for placed in own if placed[2] == domain]
            sections = (turn.view.domain_offers(pool, domain) for pool in pools)
        covered = self._claim_gang(turn, own, sections)
        self._domains.note_claims(turn)
        turn.local = turn.local and covered
        if not covered and self._consumes and not turn.parked:
            self._consume(turn, domain)

    def _still_served(self, turn: Turn) -> bool:
        """Claim for a gang whose own machines are one kind, in one domain, and just enough; say whether it is one.

        That is nearly every gang of a settled fleet, and what the rules below would find for it; so it is worth a
        straight line of code.
        """
        found = self._own_in_one_kind(turn)
        if not found:
            return False
        place = found[0][1].place
        if sum([sight.machines for _, sight in found]) != turn.ask.machines_of(place[0]):
            return False
        bound = 0
        for holding, sight in found:
            holding.take_all()
            turn.claims += sight.claims
            if holding.pool.cluster:
                bound += sight.machines
        self._domains.note_kind(turn, place, bound)
        turn.local = True
        turn.names = found[0][1].names if len(found) == 1 else None
        turn.wanted = [0] * len(turn.wanted)
        turn.choice = found[0][1].choice
        return True

    def _own_in_one_kind(self, turn: Turn) -> list[tuple[Holding, Sight]]:
        """Return the gang's own machines if nobody has claimed any and all are of one kind and domain, or nothing."""
        need, view = turn.need, turn.view
        found: list[tuple[Holding, Sight]] = []
        for pool in self._fleet.held(need.cluster):
            groups = pool.owners.get(need.profile.fingerprint)
            holding = groups.get(need.group) if groups else None
            if holding is None or pool.state not in self._credited:
                continue
            sight = view.sight(holding)
            if holding.taken or sight is None or (found and sight.place is not found[0][1].place):
                return []
            found.append((holding, sight))
        return found

    def _bound_pools(self, need: Need) -> list[Pool]:
        pools = self._fleet.held(need.cluster)[:2]
        return [pool for pool in pools if pool.count > pool.taken and pool.state in self._bound_states]

    def _consume(self, turn: Turn, domain: str) -> None:
        """Take what the gang is going to acquire out of sight of the gangs after it."""
        wanted = list(turn.wanted)
        for state in ACQUIRABLE:
            offers = turn.view.domain_offers(self._fleet.pool(state), domain)
            if claim(offers, turn.view.rank(state), wanted, []):
                return


def _priority(turn: Turn) -> int:
    return turn.ask.precedence[0]


def _usable(turn: Turn, lots: Iterable[Lot]) -> Offers:
    return [
        (lot, place[0])
        for lot in lots
        if lot.count > lot.taken and (place := turn.view.place(lot.cell.shape)) is not None
    ]


_SECTIONS: Final = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)


def _offers_of(own: list[Placed]) -> Offers:
    return [(lot, vector) for lot, vector, _ in own]


def _section_rank(lot: Lot) -> tuple[int, ...]:
    return (_SECTIONS.index(lot.cell.pool.state), *lot.keep)


def _incumbent_first(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    """Claim own machines first, each side in keep order: a maturing neighbour cannot push a serving machine out."""
    return claim(_offers_of(own), _section_rank, turn.wanted, turn.claims) or _keep_order(turn, [], sections)


def _incumbent_by_id(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    return claim(_offers_of(own), lambda _: (), turn.wanted, turn.claims) or _keep_order(turn, [], sections)


def _keep_order(turn: Turn, own: list[Placed], sections: Sections) -> bool:
    creating = [placed for placed in own if placed[0].cell.pool.state is MachineState.CREATING]
    return any(
        claim(offers, keep_rank, turn.wanted, turn.claims) for offers in chain(sections, (_offers_of(creating),))
    )


_CLAIM_ORDERS: Final = MappingProxyType[ClaimOrder, ClaimGang](
    {
        ClaimOrder.INCUMBENT_FIRST: _incumbent_first,
        ClaimOrder.INCUMBENT_BY_ID: _incumbent_by_id,
        ClaimOrder.KEEP_ORDER: _keep_order,
    }
)
