"""What acquisition would be if equals could displace each other: the ping-pong that AB-40 brings back.

Only that ablation runs this. It walks machines one by one, because displaced machines are not a prefix of anything;
what every row ends up with is booked as claims of single machines.
"""

from bisect import bisect_left
from collections import deque
from typing import Final

from scaletest.engine.decide.lots import Lot, Pool
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.vectors import Vector

__all__ = ["acquire_displacing"]

_BUDGET: Final = 10

Held = dict[str, tuple[Lot, Vector]]


class _Contest:
    """Who holds what while rows take machines from each other."""

    def __init__(self, turns: list[Turn], pools: list[Pool]) -> None:
        self.pools = pools
        self.queue = deque(turns)
        self.holder: dict[str, Turn] = {}
        self.held: dict[int, Held] = {id(turn): {} for turn in turns}
        self.start = {id(turn): list(turn.wanted) for turn in turns}
        self.budget = {id(turn): _BUDGET for turn in turns}
        self.displacements = 0

    def run(self) -> None:
        while self.queue:
            turn = self.queue.popleft()
            for pool in self.pools:
                offers = _offers(turn, pool)
                free = [offer for offer in offers if offer[1] not in self.holder]
                rivals = [offer for offer in offers if offer[1] in self.holder and self._may_take(turn, offer[1])]
                for _, machine, lot, vector in (*free, *rivals):
                    if not any(turn.wanted):
                        break
                    self._give(turn, machine, (lot, vector))

    def _may_take(self, turn: Turn, machine: str) -> bool:
        holder = self.holder[machine]
        return holder is not turn and holder.ask.precedence <= turn.ask.precedence

    def _give(self, turn: Turn, machine: str, what: tuple[Lot, Vector]) -> None:
        loser = self.holder.get(machine)
        self.holder[machine] = turn
        self.held[id(turn)][machine] = what
        self._recount(turn)
        if loser is None:
            return
        self.displacements += 1
        del self.held[id(loser)][machine]
        self._recount(loser)
        if loser not in self.queue:
            self.budget[id(loser)] -= 1
            if self.budget[id(loser)] > 0:
                self.queue.append(loser)

    def _recount(self, turn: Turn) -> None:
        left = self.start[id(turn)]
        for _, vector in self.held[id(turn)].values():
            left = [max(0, want - have) for want, have in zip(left, vector, strict=True)]
        turn.wanted = list(left)


def acquire_displacing(turns: list[Turn], pools: list[Pool]) -> int:
    """Acquire for rows in turn, letting equals displace; return the number of displacements."""
    contest = _Contest(turns, pools)
    contest.run()
    for turn in turns:
        for machine, (lot, _) in contest.held[id(turn)].items():
            place = bisect_left(lot.ids, machine)
            turn.acquired.append((lot, place, place + 1))
            lot.take(1)
    return contest.displacements


def _offers(turn: Turn, pool: Pool) -> list[tuple[tuple[int, ...], str, Lot, Vector]]:
    if turn.gang:
        cells = [] if turn.parked or turn.domain is None else turn.view.domains(pool).get(turn.domain, [])
    else:
        cells = turn.view.cells(pool)
    rank = turn.view.rank(pool.state)
    lots = [(lot, vector) for cell, vector in cells for lot in cell.lots.values()]
    return sorted(
        ((rank(lot), machine, lot, vector) for lot, vector in lots for machine in lot.ids), key=lambda offer: offer[:2]
    )
