"""One total order in which every pass gives rows their turn."""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.lines import Line
from scaletest.engine.decide.rules import RowOrder
from scaletest.model import NeedProfile

__all__ = ["order_of", "precedence"]

RowSort = Callable[[Iterable[Line]], list[Line]]


def precedence(profile: NeedProfile) -> tuple[int, int, int]:
    """Return the rank of a profile's demand; a larger one goes first and only a larger one displaces."""
    return (profile.priority, profile.interruption.ordinal, profile.reclamation.ordinal)


def order_of(order: RowOrder) -> RowSort:
    """Return the function that puts rows in turn."""
    return _ORDERS[order]


def _canonical(lines: Iterable[Line]) -> list[Line]:
    """Sort by everything that identifies a row, so that no roll-up's own order can reach a decision.

    Larger folded units go before smaller ones of the same profile: fewer machines can hold them.
    """
    return sorted(lines, key=_canonical_key)


def _canonical_key(line: Line) -> tuple[int, int, int, bool, str, str, str, tuple[tuple[str, int], ...]]:
    profile, gangs, ref = line.ask.profile, line.row.gangs, line.ref
    return (
        -profile.priority,
        -profile.interruption.ordinal,
        -profile.reclamation.ordinal,
        gangs > 0,
        *ref,
        tuple((name, -amount) for name, amount in line.need.min_unit.amounts) if gangs else (),
    )


def _as_received(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: precedence(line.ask.profile), reverse=True)


_ORDERS: Final = MappingProxyType[RowOrder, RowSort](
    {RowOrder.CANONICAL: _canonical, RowOrder.AS_RECEIVED: _as_received}
)
