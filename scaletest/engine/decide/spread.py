"""Hard spread: take the cheapest machine whose topology value is not ahead of the others by more than the skew.

Counts start at nothing on every call: machines that the row already holds are not weighed. A value that runs out still
holds the others back, because that is what a hard spread promises.
"""

from scaletest.engine.decide.lots import Lot, Pool
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.vectors import Vector
from scaletest.model import Spread

__all__ = ["claim_spread"]

Counts = list[dict[str, int]]
Offer = tuple[Lot, Vector, tuple[str, ...]]


def claim_spread(turn: Turn, pool: Pool) -> None:
    """Claim machines of one pool for a row with a spread, one by one, until it is covered or the skew stops it."""
    terms = turn.need.profile.spread
    offers = _offers(turn, pool, terms)
    counts: Counts = [{values[index]: 0 for _, _, values in offers} for index in range(len(terms))]
    rank = turn.view.rank(pool.state)
    while any(turn.wanted):
        heads = [
            (rank(lot), lot.ids[lot.taken], index)
            for index, (lot, _, values) in enumerate(offers)
            if lot.taken < lot.count and _within_skew(values, terms, counts)
        ]
        if not heads:
            return
        lot, vector, values = offers[min(heads)[2]]
        turn.acquired.append((lot, lot.taken, lot.taken + 1))
        lot.take(1)
        turn.wanted = [max(0, want - have) for want, have in zip(turn.wanted, vector, strict=True)]
        for count, value in zip(counts, values, strict=True):
            count[value] += 1


def _offers(turn: Turn, pool: Pool, terms: tuple[Spread, ...]) -> list[Offer]:
    offers: list[Offer] = []
    for cell, vector in turn.view.cells(pool):
        values = [cell.shape.label(term.topology_key) for term in terms]
        known = tuple(value for value in values if value is not None)
        if len(known) == len(terms):
            offers.extend((lot, vector, known) for lot in cell.lots.values() if lot.taken < lot.count)
    return offers


def _within_skew(values: tuple[str, ...], terms: tuple[Spread, ...], counts: Counts) -> bool:
    return all(
        count[value] <= min(count.values()) + term.max_skew - 1
        for value, term, count in zip(values, terms, counts, strict=True)
    )
