"""Demand rows before the phases: duplicates merged, and one total order in which every pass gives rows their turn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.rules import RowOrder
from scaletest.engine.decide.values import Refusal, Row
from scaletest.model import Need, NeedProfile

__all__ = ["merged", "order_of", "precedence", "sound"]

RowSort = Callable[[Iterable[Row]], list[Row]]


def precedence(profile: NeedProfile) -> tuple[int, int, int]:
    """Return the rank of a profile's demand; a larger one goes first and only a larger one displaces."""
    return (profile.priority, profile.interruption.ordinal, profile.reclamation.ordinal)


def sound(needs: Sequence[Need]) -> tuple[Sequence[Need], list[Refusal]]:
    """Return the rows that make sense, and how many do not."""
    # Nearly always all do, and two flat lists say so in a third of the time that looking row by row takes.
    amounts = [amount for need in needs for _, amount in need.aggregate.amounts]
    amounts += [amount for need in needs for _, amount in need.min_unit.amounts]
    if set(map(type, amounts)) <= {int} and min(amounts, default=1) > 0:
        return needs, []
    good = [need for need in needs if _makes_sense(need)]
    reason = "the amounts of a row must be whole numbers above zero"
    return good, [Refusal("demand", "bad-row", reason, len(needs) - len(good))]


def _makes_sense(need: Need) -> bool:
    return all(type(amount) is int and amount > 0 for part in (need.aggregate, need.min_unit) for _, amount in part)


def merged(needs: Sequence[Need]) -> Sequence[Need]:
    """Return the rows with one row per (cluster, profile, group): amounts add up and the largest unit stays."""
    if len({(need.cluster, need.profile.fingerprint, need.group) for need in needs}) == len(needs):
        return needs
    seen: dict[tuple[str, str, str], Need] = {}
    for need in needs:
        key = (need.cluster, need.profile.fingerprint, need.group)
        twin = seen.get(key)
        seen[key] = need if twin is None else _together(twin, need)
    return tuple(seen.values())


def _together(one: Need, other: Need) -> Need:
    return replace(one, aggregate=one.aggregate + other.aggregate, min_unit=one.min_unit.peak(other.min_unit))


def order_of(order: RowOrder) -> RowSort:
    """Return the function that puts rows in turn."""
    return _ORDERS[order]


def _canonical(rows: Iterable[Row]) -> list[Row]:
    """Sort by everything that identifies a row, so that no roll-up's own order can reach a decision.

    Larger folded units go before smaller ones of the same profile: fewer machines can hold them.
    """
    return sorted(rows, key=_canonical_key)


def _canonical_key(row: Row) -> tuple[int, int, int, bool, str, str, str, tuple[tuple[str, int], ...]]:
    need = row.need
    profile = need.profile
    unit = tuple((name, -amount) for name, amount in need.min_unit.amounts) if row.gangs else ()
    return (
        -profile.priority,
        -profile.interruption.ordinal,
        -profile.reclamation.ordinal,
        row.gangs > 0,
        need.cluster,
        profile.fingerprint,
        need.group,
        unit,
    )


def _as_received(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: precedence(row.need.profile), reverse=True)


_ORDERS: Final = MappingProxyType[RowOrder, RowSort](
    {RowOrder.CANONICAL: _canonical, RowOrder.AS_RECEIVED: _as_received}
)
