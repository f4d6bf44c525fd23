"""Taking machines: whole ones, in walking order, until what is wanted is covered. The hot loop of the engine.

Every walk takes from the front of each lot, so a claim is (lot, start, stop). Lots that tie are merged by id; inside
a lot the count follows by division, without looking at machines.
"""

from bisect import bisect_right
from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from typing import Final

from scaletest.engine.decide.lots import Claim, Lot
from scaletest.engine.decide.vectors import Vector, needed
from scaletest.engine.decide.views import Run

__all__ = ["claim", "claimed_ids"]

_FEW: Final = 4


def claim(runs: Iterable[Run], wanted: list[int], claims: list[Claim]) -> bool:
    """Claim machines run by run, lowering `wanted` and adding to `claims`; say whether all is covered.

    Every lot of a run has machines left.
    """
    for run in runs:
        if not any(wanted):
            return True
        if len(run) == 1:
            lot, vector = run[0]
            _take(lot, vector, min(len(lot.ids) - lot.taken, needed(wanted, vector)), wanted, claims)
        else:
            _claim_merged(run, wanted, claims)
    return not any(wanted)


def _take(lot: Lot, vector: Vector, count: int, wanted: list[int], claims: list[Claim]) -> None:
    start = lot.taken
    lot.take(count)
    claims.append((lot, start, start + count))
    for index, have in enumerate(vector):
        left = wanted[index] - have * count
        wanted[index] = max(0, left)


def _claim_merged(run: Run, wanted: list[int], claims: list[Claim]) -> None:
    vector = run[0][1]
    if all(other == vector for _, other in run):
        count = needed(wanted, vector)
        if count < sum([len(lot.ids) - lot.taken for lot, _ in run]):
            lots = [lot for lot, _ in run]
            shares = _few_by_id(lots, count) if count <= _FEW else _first_by_id(lots, count)
            for lot, share in shares:
                _take(lot, vector, share, wanted, claims)
            return
    elif not _never_covers(run, wanted):
        _claim_one_by_one(run, wanted, claims)
        return
    for lot, own in run:
        _take(lot, own, len(lot.ids) - lot.taken, wanted, claims)


def _never_covers(run: Run, wanted: list[int]) -> bool:
    """Say whether even all machines together leave something open, so that all are taken."""
    return any(
        sum((len(lot.ids) - lot.taken) * vector[index] for lot, vector in run) < want
        for index, want in enumerate(wanted)
    )


def _few_by_id(lots: list[Lot], count: int) -> list[tuple[Lot, int]]:
    """Return what `_first_by_id` does, for so few machines that looking at every lot's head is quicker than merging."""
    heads = [(lot.ids[lot.taken], index) for index, lot in enumerate(lots)]
    shares: dict[int, int] = {}
    heapify(heads)
    for _ in range(count):
        index = heads[0][1]
        share = shares[index] = shares.get(index, 0) + 1
        lot = lots[index]
        if lot.taken + share < len(lot.ids):
            heapreplace(heads, (lot.ids[lot.taken + share], index))
        else:
            heappop(heads)
    return [(lots[index], share) for index, share in shares.items()]


def _first_by_id(lots: list[Lot], count: int) -> list[tuple[Lot, int]]:
    """Return how many of the `count` smallest ids each lot gives."""
    # Sorting runs that are sorted already is a merge in C, far quicker than a heap in Python.
    merged = sorted([name for lot in lots for name in lot.ids[lot.taken : lot.taken + count]])
    last = merged[count - 1]
    shares = ((lot, bisect_right(lot.ids, last, lot.taken) - lot.taken) for lot in lots)
    return [(lot, share) for lot, share in shares if share]


def _claim_one_by_one(live: Run, wanted: list[int], claims: list[Claim]) -> None:
    """Walk machines of different sizes by id; the count of each lot is booked at the end."""
    ends = [lot.taken for lot, _ in live]
    heads = [(lot.ids[lot.taken], index) for index, (lot, _) in enumerate(live)]
    heapify(heads)
    left = list(wanted)
    while heads and any(left):
        index = heads[0][1]
        lot, vector = live[index]
        left = [max(0, want - have) for want, have in zip(left, vector, strict=True)]
        ends[index] += 1
        if ends[index] < len(lot.ids):
            heapreplace(heads, (lot.ids[ends[index]], index))
        else:
            heappop(heads)
    for (lot, vector), end in zip(live, ends, strict=True):
        if end > lot.taken:
            _take(lot, vector, end - lot.taken, wanted, claims)


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
