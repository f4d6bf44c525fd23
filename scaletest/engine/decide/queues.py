"""A pool in walking order, for many rows of one view that take a few machines each.

Taking only ever moves a lot's head on, so an entry that others have outdated is put right when it comes up.
"""

from heapq import heapify, heappop, heapreplace

from scaletest.engine.decide.lots import Claim
from scaletest.engine.decide.views import Offers, Rank
from scaletest.engine.decide.walk import book, lower

__all__ = ["Queue"]


class Queue:
    """Lots by rank and by the id of their next machine."""

    def __init__(self, offers: Offers, rank: Rank) -> None:
        self._heads = [(rank(lot), lot.ids[lot.taken], lot, vector) for lot, vector in offers]
        heapify(self._heads)

    def claim(self, wanted: list[int], claims: list[Claim]) -> None:
        """Claim machine by machine until all is covered, lowering `wanted` and adding to `claims`."""
        heads = self._heads
        while heads and any(wanted):
            rank, name, lot, vector = heads[0]
            if lot.taken == lot.count:
                heappop(heads)
            elif lot.ids[lot.taken] != name:
                heapreplace(heads, (rank, lot.ids[lot.taken], lot, vector))
            else:
                book(lot, 1, claims)
                lower(wanted, vector, 1)
