"""Taking machines: whole ones, in walking order, until what is wanted is covered. The hot loop of the engine.

Every walk takes from the front of each lot, so a claim is (lot, start, stop). Lots that tie are merged by id; inside
a lot the count follows by division, without looking at machines. Lots are put in order only if some are left over.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Final

from scaletest.engine.decide.lots import Claim, Lot
from scaletest.engine.decide.vectors import Vector, needed
from scaletest.engine.decide.views import Offers, Rank

__all__ = ["book", "claim", "claimed_ids", "lower"]

_FEW: Final = 4


def claim(offers: Offers, rank: Rank, wanted: list[int], claims: list[Claim]) -> bool:
    """Claim machines by rank and id, lowering `wanted` and adding to `claims`; say whether all is covered.

    Every lot on offer has machines left.
    """
    if not any(wanted):
        return True
    if not offers:
        return False
    if _one_kind(offers):
        vector = offers[0][1]
        count = needed(wanted, vector)
        free = sum([lot.count - lot.taken for lot, _ in offers])
        if count >= free:
            _take_whole(offers, claims)
            lower(wanted, vector, free)
            return count == free
        if count <= _FEW:
            for lot, share in _first_by_rank(offers, rank, count):
                book(lot, share, claims)
            wanted[:] = [0] * len(wanted)
            return True
    for run in _runs_of(offers, rank):
        _claim_run(run, wanted, claims)
        if not any(wanted):
            return True
    return False


def _one_kind(offers: Offers) -> bool:
    vector = offers[0][1]
    return all(other is vector for _, other in offers)


def _runs_of(offers: Offers, rank: Rank) -> list[Offers]:
    """Sort lots into runs of equal rank."""
    if len(offers) == 1:
        return [offers]
    ranked = sorted([(rank(lot), lot, vector) for lot, vector in offers], key=itemgetter(0))
    if ranked[0][0] == ranked[-1][0]:
        return [offers]
    return [[(lot, vector) for _, lot, vector in run] for _, run in groupby(ranked, key=itemgetter(0))]


def _claim_run(run: Offers, wanted: list[int], claims: list[Claim]) -> None:
    """Claim from lots that tie, by id."""
    count = needed(wanted, run[0][1]) if _one_kind(run) else _enough_by_id(run, wanted)
    if count >= sum([lot.count - lot.taken for lot, _ in run]):
        for lot, vector in run:
            lower(wanted, vector, lot.count - lot.taken)
        _take_whole(run, claims)
        return
    shares = _first_by_id([lot for lot, _ in run], count)
    for share, (lot, vector) in zip(shares, run, strict=True):
        if share:
            lower(wanted, vector, share)
            book(lot, share, claims)


def lower(wanted: list[int], vector: Vector, count: int) -> None:
    """Take what some machines count for off what is wanted."""
    for index, have in enumerate(vector):
        left = wanted[index] - have * count
        wanted[index] = max(0, left)


def book(lot: Lot, count: int, claims: list[Claim]) -> None:
    """Take the next machines of a lot and add them to claims."""
    start = lot.taken
    lot.take(count)
    claims.append((lot, start, start + count))


def _take_whole(offers: Offers, claims: list[Claim]) -> None:
    for lot, _ in offers:
        book(lot, lot.count - lot.taken, claims)


def _first_by_rank(offers: Offers, rank: Rank, count: int) -> list[tuple[Lot, int]]:
    """Return how many of the first `count` machines each lot gives; for so few that one sort of all heads will do."""
    if count == 1:
        return [(min([(rank(lot), lot.ids[lot.taken], lot) for lot, _ in offers])[2], 1)]
    heads = [
        (rank(lot), name, index)
        for index, (lot, _) in enumerate(offers)
        for name in lot.ids[lot.taken : lot.taken + count]
    ]
    heads.sort()
    shares: dict[int, int] = {}
    for _, _, index in heads[:count]:
        shares[index] = shares.get(index, 0) + 1
    return [(offers[index][0], share) for index, share in shares.items()]


def _first_by_id(lots: list[Lot], count: int) -> list[int]:
    """Return how many of the `count` smallest ids each lot gives."""
    if len(lots) == 1:
        return [count]
    # Sorting runs that are sorted already is a merge in C, far quicker than a heap in Python.
    merged = sorted([name for lot in lots for name in lot.ids[lot.taken : lot.taken + count]])
    return _up_to(merged[count - 1], lots)


def _up_to(last: str, lots: list[Lot]) -> list[int]:
    return [bisect_right(lot.ids, last, lot.taken) - lot.taken for lot in lots]


def _enough_by_id(run: Offers, wanted: list[int]) -> int:
    """Return how many machines of different sizes, taken by id, cover what is wanted: all, if even they do not."""
    # As many machines as would be needed of the least of them are always enough.
    most = max([needed(wanted, vector) for _, vector in run])
    merged = sorted([(name, vector) for lot, vector in run for name in lot.ids[lot.taken : lot.taken + most]])[:most]
    counts = [
        1 + bisect_left(list(accumulate([vector[index] for _, vector in merged])), want)
        for index, want in enumerate(wanted)
        if want
    ]
    return min(max(counts), len(merged))


def claimed_ids(claims: list[Claim]) -> tuple[str, ...]:
    """Return the machines behind claims, sorted: how lots happen to be stored must not show."""
    if len(claims) == 1:
        lot, start, stop = claims[0]
        return tuple(lot.ids[start:stop])
    names: list[str] = []
    for lot, start, stop in claims:
        names += lot.ids[start:stop]
    names.sort()
    return tuple(names)
