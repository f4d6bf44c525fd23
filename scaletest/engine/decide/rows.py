"""One total order in which every pass gives rows their turn."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide.lines import Line
from scaletest.engine.decide.rules import RowOrder

__all__ = ["order_of"]

RowSort = Callable[[Iterable[Line]], list[Line]]


def order_of(order: RowOrder) -> RowSort:
    """Return the function that puts rows in turn."""
    return _ORDERS[order]


def _canonical(lines: Iterable[Line]) -> list[Line]:
    """Sort by everything that identifies a row, so that no roll-up's own order can reach a decision."""
    return sorted(lines, key=attrgetter("rank"))


def _as_received(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: line.ask.precedence, reverse=True)


_ORDERS: Final = MappingProxyType[RowOrder, RowSort](
    {RowOrder.CANONICAL: _canonical, RowOrder.AS_RECEIVED: _as_received}
)
