"""Which bucket edges histograms need: one at each bar and one where a miss stops being marginal."""

from fractions import Fraction

from scaletest.gates.ledger import BINDS
from scaletest.plan.gate_table import REQUESTS
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest

__all__ = ["edges_by_metric"]


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
    return float(gate.threshold), float(Fraction(str(gate.threshold)) * 11 / 10)
