"""Acquisition: Idle machines first, then Speculative ones by effective cost, for whatever the pre-pass left open.

Rows take their turn in precedence order, which is the outcome the optimistic broker is specified to equal. A gang
acquires inside its chosen domain only. A hard spread keeps the values of its key within the skew.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.displacement import acquire_displacing
from scaletest.engine.decide.domains import ACQUIRABLE
from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lots import Pool
from scaletest.engine.decide.queues import Queue
from scaletest.engine.decide.rules import Displacement, GangDomain, Rules
from scaletest.engine.decide.spread import claim_spread
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.views import Offers, View
from scaletest.engine.decide.walk import claim

__all__ = ["Acquire"]

GangOffers = Callable[[Turn, Pool], Offers]


class Acquire:
    """The acquisition pass under one set of rules."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet = fleet
        self._gang_offers = _GANG_DOMAINS[rules.gang_domain]
        self._displacing = rules.displacement is Displacement.EQUAL_TOO
        self._queues: dict[tuple[View, Pool], Queue] = {}

    def run(self, turns: list[Turn]) -> int:
        """Acquire for every row that still wants something; return how often a row lost a machine to another."""
        self._queues.clear()
        open_turns = [turn for turn in turns if any(turn.wanted)]
        pools = [self._fleet.pool(state) for state in ACQUIRABLE]
        if self._displacing:
            return acquire_displacing(open_turns, pools)
        for turn in open_turns:
            for pool in pools:
                if pool.count > pool.taken and any(turn.wanted):
                    self._from(pool, turn)
        # In a pass sorted by precedence nobody comes after a row that outranks it.
        return 0

    def _from(self, pool: Pool, turn: Turn) -> None:
        if turn.gang:
            if not turn.parked:
                claim(self._gang_offers(turn, pool), turn.view.rank(pool.state), turn.wanted, turn.acquired)
        elif turn.need.profile.spread:
            claim_spread(turn, pool)
        else:
            self._queue(turn.view, pool).claim(turn.wanted, turn.acquired)

    def _queue(self, view: View, pool: Pool) -> Queue:
        queue = self._queues.get((view, pool))
        if queue is None:
            queue = self._queues[view, pool] = Queue(view.offers(pool), view.rank(pool.state))
        return queue


def _chosen_once(turn: Turn, pool: Pool) -> Offers:
    return [] if turn.domain is None else turn.view.domain_offers(pool, turn.domain)


def _chosen_again(turn: Turn, pool: Pool) -> Offers:
    """Score this pool's domains alone against what is left, forgetting where the gang was credited."""
    view = turn.view
    rank = view.rank(pool.state)
    best: tuple[int, int, tuple[int, ...], str] | None = None
    for value, cells in view.domains(pool).items():
        free = [(cell.count - cell.taken, vector) for cell, vector in cells]
        count = sum(number for number, _ in free)
        if not count:
            continue
        totals = [sum(number * vector[index] for number, vector in free) for index in range(len(turn.wanted))]
        covers = all(have >= want for have, want in zip(totals, turn.wanted, strict=True))
        head = min(rank(lot) for cell, _ in cells for lot in cell.lots.values() if lot.count > lot.taken)
        score = (0 if covers else 1, 0 if covers else -count, head, value)
        best = score if best is None else min(best, score)
    return [] if best is None else view.domain_offers(pool, best[3])


_GANG_DOMAINS: Final = MappingProxyType[GangDomain, GangOffers](
    {GangDomain.CHOSEN_ONCE: _chosen_once, GangDomain.CHOSEN_AGAIN: _chosen_again}
)
