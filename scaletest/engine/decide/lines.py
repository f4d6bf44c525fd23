"""Demand as the phases read it: one line per row, with all that follows from the row alone worked out once.

Rows are immutable, and most come again in the next cycle as the very same object, so lines are remembered by the
identity of their row. What rows of one cluster, profile and size share is an ask: gangs by the hundred differ in
nothing but their group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Final

from scaletest.engine.decide.lots import Amounts
from scaletest.engine.decide.values import Refusal, Row
from scaletest.engine.decide.vectors import Vector, needed
from scaletest.model import Need

__all__ = ["Ask", "Line", "Lines"]

_KEY: Final = attrgetter("key")

AskKey = tuple[str, str, Amounts, Amounts]


class Ask:
    """What a row asks for and of whom: all of it but its group."""

    __slots__ = (
        "_enough", "aggregate", "cluster", "dims", "fingerprint", "folded", "gang", "min_unit", "precedence", "profile",
        "wanted",
    )  # fmt: skip

    def __init__(self, need: Need) -> None:
        profile = need.profile
        self.cluster = need.cluster
        self.profile = profile
        self.fingerprint = profile.fingerprint
        self.precedence = (profile.priority, profile.interruption.ordinal, profile.reclamation.ordinal)
        """The rank of its demand; a larger one goes first and only a larger one displaces."""
        self.gang = profile.same_key is not None
        self.aggregate = need.aggregate
        self.min_unit = need.min_unit
        self.dims = tuple([name for name, _ in need.aggregate.amounts])
        self.wanted = tuple([amount for _, amount in need.aggregate.amounts])
        self.folded: Line | None = None
        """The row that gangs of this ask were last folded into."""
        self._enough: dict[Vector, int] = {}

    def machines_of(self, vector: Vector) -> int:
        """Return how many machines of one kind cover all of it."""
        count = self._enough.get(vector)
        if count is None:
            count = self._enough[vector] = needed(self.wanted, vector)
        return count


class Line:
    """A row with its ask and its key: cluster, fingerprint and group, as a NeedRef names them."""

    __slots__ = ("_row", "ask", "gangs", "key", "need")

    def __init__(self, need: Need, ask: Ask, gangs: int = 0) -> None:
        self.need = need
        self.ask = ask
        self.gangs = gangs
        self.key = (ask.cluster, ask.fingerprint, need.group)
        self._row: Row | None = None

    @property
    def row(self) -> Row:
        """Return the row as outcomes carry it; most gangs fold and never have one of their own."""
        row = self._row
        if row is None:
            row = self._row = Row(self.need, self.gangs)
        return row


class Lines:
    """The lines of the last cycle, ready for this one."""

    def __init__(self) -> None:
        self._known: dict[int, Line] = {}
        """By the identity of the row, which stands for it because the line keeps the row alive."""
        self._asks: dict[AskKey, Ask] = {}

    def read(self, needs: Sequence[Need]) -> tuple[list[Line], list[Refusal]]:
        """Return a line per row that makes sense, rows of one key merged, and how many rows do not."""
        known, refusals = self._known, list[Refusal]()
        fresh = [need for need in needs if id(need) not in known] if known else needs
        if not _all_make_sense(fresh):
            good = [need for need in needs if id(need) in known or _makes_sense(need)]
            reason = "the amounts of a row must be whole numbers above zero"
            refusals.append(Refusal("demand", "bad-row", reason, len(needs) - len(good)))
            needs = good
        found = map(known.get, map(id, needs))
        lines = [line or self._line(need) for line, need in zip(found, needs, strict=True)]
        if fresh or len(known) != len(lines):
            self._known = dict(zip(map(id, needs), lines, strict=True))
        if len(self._asks) > 2 * len(lines):
            self._asks = {_key_of(line.need): line.ask for line in lines}
        return self._merged(lines), refusals

    def _line(self, need: Need) -> Line:
        key = _key_of(need)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = Ask(need)
        return Line(need, ask)

    def _merged(self, lines: list[Line]) -> list[Line]:
        """Return one line per (cluster, profile, group): amounts add up and the largest unit stays."""
        if len(set(map(_KEY, lines))) == len(lines):
            return lines
        seen: dict[tuple[str, str, str], Line] = {}
        for line in lines:
            twin = seen.get(line.key)
            seen[line.key] = line if twin is None else self._line(_together(twin.need, line.need))
        return list(seen.values())


def _key_of(need: Need) -> AskKey:
    return need.cluster, need.profile.fingerprint, need.aggregate.amounts, need.min_unit.amounts


def _together(one: Need, other: Need) -> Need:
    return replace(one, aggregate=one.aggregate + other.aggregate, min_unit=one.min_unit.peak(other.min_unit))


def _all_make_sense(needs: Iterable[Need]) -> bool:
    # Two flat lists say so in a third of the time that looking row by row takes.
    amounts = [amount for need in needs for _, amount in need.aggregate.amounts]
    amounts += [amount for need in needs for _, amount in need.min_unit.amounts]
    return set(map(type, amounts)) <= {int} and min(amounts, default=1) > 0


def _makes_sense(need: Need) -> bool:
    return all(type(amount) is int and amount > 0 for part in (need.aggregate, need.min_unit) for _, amount in part)
