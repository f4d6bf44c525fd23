"""Which bucket edges histograms need: one at each bar, and two around where a miss stops being marginal.

A bucket includes its upper edge and a failure begins at 1.1 bars sharp. So one edge stands on the last microsecond that
is marginal and one on the limit: a single edge there would leave everything between bar and limit undecided.
"""

from fractions import Fraction
from typing import Final

from scaletest.gates.ledger import BINDS
from scaletest.model import US_PER_SECOND
from scaletest.plan.gate_table import REQUESTS
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest

__all__ = ["edges_by_metric"]

_TICK: Final = Fraction(1, US_PER_SECOND)


def edges_by_metric(test: PlannedTest) -> dict[str, tuple[float, ...]]:
    """Return the edges that the gates of a test ask of each histogram, by metric family."""
    edges: dict[str, set[float]] = {}
    for gate in test.gates:
        role = test.roles.get(gate.role)
        metric = BINDS.removesuffix("_count") if gate.role == REQUESTS else role.metric if role else ""
        edges.setdefault(metric, set()).update(_edges_of(gate))
    return {metric: tuple(sorted(found)) for metric, found in edges.items() if found}


def _edges_of(gate: Gate) -> tuple[float, ...]:
    if gate.quantile is None or isinstance(gate.threshold, str):
        return ()
    limit = Fraction(str(gate.threshold)) * 11 / 10
    return float(gate.threshold), float(limit - _TICK), float(limit)
