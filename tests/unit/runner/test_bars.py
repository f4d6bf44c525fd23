"""The edges that gates ask of histograms: whichever bucket an observation falls into, it decides the gate."""

import pytest

from sample_plans import shipped_plan
from scaletest.gates.latency import judged
from scaletest.gates.outcomes import Outcome
from scaletest.gates.quantiles import HistogramDelta, histogram_quantile
from scaletest.plan.document import plan_document
from scaletest.plan.planned import planned_test
from scaletest.report.canonical import canonical_text
from scaletest_runner.running.bars import edges_by_metric

BAR = 20.0
"""What dev-50 asks of shardConfigurePhaseP99Seconds."""


@pytest.mark.parametrize(
    ("seconds", "outcome"),
    [
        (20.0, Outcome.PASS),
        (20.000_001, Outcome.MARGINAL),
        (21.0, Outcome.MARGINAL),
        (21.999_999, Outcome.MARGINAL),
        (22.000_001, Outcome.FAIL),
    ],
)
def test_the_bucket_of_an_observation_decides_the_gate(seconds: float, outcome: Outcome) -> None:
    test = planned_test(canonical_text(plan_document(shipped_plan("dev-50"), ())))
    edges = [*edges_by_metric(test)["bigfleet_shard_configure_phase_seconds"], 60.0]

    upper = next(edge for edge in edges if seconds <= edge)
    bracket = histogram_quantile(HistogramDelta(tuple((edge, int(edge == upper)) for edge in edges)), 0.99)

    assert judged(bracket, bracket, bar=BAR, tail_decides=False)[0] is outcome
