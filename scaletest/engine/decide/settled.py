"""Clusters in which nothing has changed since the last cycle keep what they were credited then.

Bound machines count for their own cluster only. So where every row was covered by them alone, and no gang's domain was
weighed against what could be acquired, the pre-pass follows from the cluster's rows and machines; while both stay as
they are it would find the same again. Everything after the pre-pass is decided anew in every cycle.
"""

from collections.abc import Sequence
from typing import NamedTuple

from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lines import Line
from scaletest.engine.decide.rules import KeepSet, Own, Rules
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.views import Views
from scaletest.model import MachineState

__all__ = ["Settled"]


class _Kept(NamedTuple):
    """A settled cluster: its rows in order, their turns, and how often its machines had changed."""

    lines: list[Line]
    turns: list[Turn]
    changes: tuple[int, int]


class Settled:
    """What can be kept from one cycle to the next."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet = fleet
        # A second walk loses the claims, and a gang that shares its own with others of its profile is not alone.
        self._possible = rules.keep_set is KeepSet.CLAIMED and rules.own is Own.GROUP_AND_FINGERPRINT
        self._kept: dict[str, _Kept] = {}
        self._seen = (0, 0)

    def begin(self, lines: Sequence[Line], views: Views, parked: Sequence[bool]) -> list[Turn]:
        """Return a turn per row, the last one where its cluster is settled, and forget all claims but theirs."""
        kept, self._kept = self._unchanged(lines, parked), {}
        self._fleet.untake(but=kept)
        turns = {turn.line: turn for cluster in kept.values() for turn in cluster.turns}
        return [
            turns.get(line) or Turn(line, views.of(line.ask), parked=stamp)
            for line, stamp in zip(lines, parked, strict=True)
        ]

    def end(self, turns: Sequence[Turn]) -> None:
        """Remember the clusters whose rows were all covered by their own machines."""
        if not self._possible:
            return
        by_cluster: dict[str, list[Turn]] = {}
        for turn in turns:
            by_cluster.setdefault(turn.ask.cluster, []).append(turn)
        self._kept = {
            cluster: _Kept([turn.line for turn in found], found, self._changes(cluster))
            for cluster, found in by_cluster.items()
            if all(map(self._alone, found))
        }
        self._seen = self._state()

    def _alone(self, turn: Turn) -> bool:
        """Say whether a row's credit follows from its cluster's rows and machines alone, then and now."""
        if not turn.local or turn.parked:
            return False
        # Machines in creation belong to no cluster yet, and a gang looks at its own first.
        creating = self._fleet.pool(MachineState.CREATING).owners.get(turn.ask.fingerprint, ())
        return not turn.gang or turn.need.group not in creating

    def _unchanged(self, lines: Sequence[Line], parked: Sequence[bool]) -> dict[str, _Kept]:
        if not self._kept or self._seen != self._state():
            return {}
        by_cluster: dict[str, list[Line]] = {}
        for line in lines:
            by_cluster.setdefault(line.ask.cluster, []).append(line)
        barred = {line.ask.cluster for line, stamp in zip(lines, parked, strict=True) if stamp}
        return {
            cluster: kept
            for cluster, kept in self._kept.items()
            if by_cluster.get(cluster) == kept.lines
            and cluster not in barred
            and self._changes(cluster) == kept.changes
            and all(map(self._alone, kept.turns))
        }

    def _state(self) -> tuple[int, int]:
        """Return what tells that somebody else has claimed machines of the fleet, or that it was indexed anew."""
        return self._fleet.untaken, self._fleet.generation

    def _changes(self, cluster: str) -> tuple[int, int]:
        configured, configuring, _ = self._fleet.held(cluster)
        return configured.changes, configuring.changes
