"""The demand table: each cluster's latest accepted roll-up, and the guard against one that is suddenly empty.

A roll-up replaces all rows of its cluster. One with fewer than a tenth of the rows last accepted is held, unless the
cluster was small anyway; the third such roll-up in a row is believed. A held roll-up still proves that the cluster
speaks, but wakes no cycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from scaletest.engine.decide.values import Demand
from scaletest.model import Need

__all__ = ["DemandTable"]

_SMALLEST_GUARDED: Final = 10
_SUSPECT_SHARE: Final = 10
_BELIEVED_AT: Final = 3


@dataclass(frozen=True, slots=True)
class DemandTable:
    """All that clusters have asked for; `receive` returns the table after a roll-up and whether it took effect."""

    guarded: bool = True
    rows: Mapping[str, tuple[Need, ...]] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    heard: frozenset[str] = frozenset()

    def receive(self, cluster: str, rows: tuple[Need, ...]) -> tuple["DemandTable", bool]:
        """Take a roll-up in: accept it at once, or hold it and count."""
        heard = self.heard | {cluster}
        times = self.held.get(cluster, 0) + 1
        if self._suspect(cluster, rows) and times < _BELIEVED_AT:
            return replace(self, held={**self.held, cluster: times}, heard=heard), False
        held = {name: count for name, count in self.held.items() if name != cluster}
        return replace(self, rows={**self.rows, cluster: rows}, held=held, heard=heard), True

    def _suspect(self, cluster: str, rows: tuple[Need, ...]) -> bool:
        baseline = len(self.rows.get(cluster, ()))
        return self.guarded and baseline >= _SMALLEST_GUARDED and len(rows) * _SUSPECT_SHARE < baseline

    def demand(self) -> Demand:
        """Return the demand of all clusters, in order of their names."""
        return Demand(tuple(chain.from_iterable(self.rows[cluster] for cluster in sorted(self.rows))), self.heard)
