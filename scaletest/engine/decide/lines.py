"""Demand as the phases read it: one line per row, with all that follows from the row alone worked out once.

Rows are immutable, and most come again in the next cycle as the very same object, so lines are remembered by the
identity of their row, and a cluster whose rows are all the same is taken over whole. What rows of one cluster, profile
and size share is an ask: gangs by the hundred differ in nothing but their group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import is_
from typing import NamedTuple

from scaletest.engine.decide.lots import Amounts
from scaletest.engine.decide.values import Refusal, Row
from scaletest.engine.decide.vectors import Vector, needed
from scaletest.model import Need

__all__ = ["Ask", "Line", "Lines"]

AskKey = tuple[str, str, Amounts, Amounts]
Rank = tuple[int, int, int, bool, tuple[str, str, str], Amounts]


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

    __slots__ = ("_rank", "_row", "ask", "gangs", "key", "need")

    def __init__(self, need: Need, ask: Ask, gangs: int = 0) -> None:
        self.need = need
        self.ask = ask
        self.gangs = gangs
        self.key = (ask.cluster, ask.fingerprint, need.group)
        self._row: Row | None = None
        self._rank: Rank | None = None

    @property
    def rank(self) -> Rank:
        """Return its place in the canonical order: everything that identifies a row, the highest demand first.

        Larger folded units go before smaller ones of the same profile: fewer machines can hold them.
        """
        rank = self._rank
        if rank is None:
            priority, interruption, reclamation = self.ask.precedence
            unit = tuple([(name, -amount) for name, amount in self.need.min_unit.amounts]) if self.gangs else ()
            rank = self._rank = (-priority, -interruption, -reclamation, self.gangs > 0, self.key, unit)
        return rank

    @property
    def row(self) -> Row:
        """Return the row as outcomes carry it; most gangs fold and never have one of their own."""
        row = self._row
        if row is None:
            row = self._row = Row(self.need, self.gangs)
        return row


class _Part(NamedTuple):
    """Rows of one cluster that came one after the other: a line per row that makes sense, and how many do not."""

    rows: tuple[Need, ...]
    known: dict[int, Line]
    """By the identity of the row, which stands for it because the part keeps the row alive."""
    lines: list[Line]
    bad: int


class Lines:
    """The lines of the last cycle, ready for this one."""

    def __init__(self) -> None:
        self._parts: dict[str, _Part] = {}
        self._asks: dict[AskKey, Ask] = {}

    def read(self, needs: tuple[Need, ...]) -> tuple[list[Line], list[Refusal]]:
        """Return a line per row that makes sense, rows of one key merged, and how many rows do not."""
        parts = self._parts_of(needs)
        self._parts = {part.rows[0].cluster: part for part in parts}
        lines = list(chain.from_iterable([part.lines for part in parts]))
        if len(self._asks) > 2 * len(lines):
            self._asks = {_key_of(line.need): line.ask for line in lines}
        if len(self._parts) < len(parts):
            lines = self._merged(lines)
        bad = sum([part.bad for part in parts])
        if not bad:
            return lines, []
        return lines, [Refusal("demand", "bad-row", "the amounts of a row must be whole numbers above zero", bad)]

    def _parts_of(self, needs: tuple[Need, ...]) -> list[_Part]:
        """Return the rows in parts, each cluster's last one again if it is still the same."""
        parts, at = list[_Part](), 0
        while at < len(needs):
            part = self._parts.get(needs[at].cluster)
            if part is None or not _is_at(part.rows, needs, at):
                stop = next(end for end in range(at + 1, len(needs) + 1) if _ends(needs, end))
                part = self._part(needs[at:stop], part.known if part is not None else {})
            parts.append(part)
            at += len(part.rows)
        return parts

    def _part(self, rows: tuple[Need, ...], known: dict[int, Line]) -> _Part:
        good: Sequence[Need] = rows
        if not _all_make_sense([need for need in rows if id(need) not in known]):
            good = [need for need in rows if id(need) in known or _makes_sense(need)]
        lines = [known.get(id(need)) or self._line(need) for need in good]
        known = dict(zip(map(id, good), lines, strict=True))
        return _Part(rows, known, self._merged(lines), len(rows) - len(good))

    def _line(self, need: Need) -> Line:
        key = _key_of(need)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = Ask(need)
        return Line(need, ask)

    def _merged(self, lines: list[Line]) -> list[Line]:
        """Return one line per (cluster, profile, group): amounts add up and the largest unit stays."""
        if len({line.key for line in lines}) == len(lines):
            return lines
        seen: dict[tuple[str, str, str], Line] = {}
        for line in lines:
            twin = seen.get(line.key)
            seen[line.key] = line if twin is None else self._line(_together(twin.need, line.need))
        return list(seen.values())


def _is_at(rows: tuple[Need, ...], needs: tuple[Need, ...], at: int) -> bool:
    """Say whether a cluster's rows are these very objects, and no others."""
    stop = at + len(rows)
    return stop <= len(needs) and _ends(needs, stop) and all(map(is_, rows, needs[at:stop]))


def _ends(needs: tuple[Need, ...], at: int) -> bool:
    """Say whether a cluster's rows end before a place."""
    return at == len(needs) or needs[at].cluster != needs[at - 1].cluster


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
