"""Laws of the judge: order never matters, worse evidence never helps, and brackets hold the truth."""

from array import array
from dataclasses import replace
from math import ceil, inf
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaletest.evidence import Evidence, Metrics, RequestRow, Series
from scaletest.gates.judge import judge
from scaletest.gates.latency import judged
from scaletest.gates.ledger import BINDS
from scaletest.gates.outcomes import Bracket, GateResult, Outcome, RunOutcome, Verdict
from scaletest.gates.proof import _DRILLS, PROOFS, proof_gate
from scaletest.gates.quantiles import HistogramDelta, Spread, histogram_quantile
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.model.instants import exact
from scaletest.plan.planned import PlannedTest

_BINDING: Final = ("internalBindingLatencyP99Seconds", "newMachineBindingP95Seconds", "endToEndPodBindP50Seconds")
_ALL: Final = staged_test(*(proof_gate(name, proof.bar) for name, proof in PROOFS.items()), drills=_DRILLS)
_RANKS: Final = {
    Outcome.PASS: 0,
    Outcome.MARGINAL: 1,
    Outcome.UNMEASURED: 2,
    Outcome.FAIL: 2,
    Outcome.NOT_APPLICABLE: 0,
}
_RUNS: Final = {RunOutcome.PASS: 0, RunOutcome.INCONCLUSIVE: 1, RunOutcome.FAIL: 2}

seconds = st.floats(0, 200, allow_nan=False).map(lambda value: round(value, 3))
shares = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])
waits = st.lists(seconds, min_size=1, max_size=60)
# Around the least number of samples that show a p99 with confidence, and around where it stops being the maximum.
sizes = st.sampled_from([99, 100, 101, 298, 299, 300, 400])


def _shuffled(evidence: Evidence, order: Random) -> Evidence:
    def series(each: Series) -> Series:
        pairs = list(zip(each.times_ms, each.values, strict=True))
        order.shuffle(pairs)
        mixed = Series(each.name, each.labels, array("q", [t for t, _ in pairs]), array("d", [v for _, v in pairs]))
        return mixed.settled()

    families = {name: order.sample([series(s) for s in found], len(found)) for name, found in _items(evidence, order)}
    return replace(
        evidence,
        metrics=Metrics(families),
        requests=tuple(order.sample(evidence.requests, len(evidence.requests))),
        actions=tuple(order.sample(evidence.actions, len(evidence.actions))),
        cycles=tuple(order.sample(evidence.cycles, len(evidence.cycles))),
        events=tuple(order.sample(evidence.events, len(evidence.events))),
        compute=tuple(order.sample(evidence.compute, len(evidence.compute))),
    )


def _items(evidence: Evidence, order: Random) -> list[tuple[str, list[Series]]]:
    items = list(evidence.metrics.families.items())
    order.shuffle(items)
    return items


@settings(max_examples=12)
@given(st.integers(0, 10**9), st.sampled_from([{}, {"slow": 10}, {"reclaims": 21}, {"waiting": 3}]))
def test_the_order_of_rows_and_samples_never_matters(seed: int, scene: dict[str, int]) -> None:
    evidence = staged_evidence(_ALL, Scene(**scene))  # type: ignore[arg-type]  # whole numbers all
    order = Random(seed)  # noqa: S311 - a shuffle, not a secret
    assert judge(_ALL, _shuffled(evidence, order)) == judge(_ALL, evidence)


def test_judging_twice_gives_the_same_values() -> None:
    first, second = (judge(_ALL, staged_evidence(_ALL, Scene(slow=4, drift=0.2))) for _ in range(2))
    assert repr(first) == repr(second)


def _requests_judged(latencies: list[float | None], *, strict: bool = False) -> Verdict:
    """Judge requests that waited so long; None is one that still waits."""
    test = replace(
        staged_test(*(proof_gate(name, PROOFS[name].bar) for name in (*_BINDING, "boundShare"))),
        planned_replacements=len(latencies),
    )
    return judge(test, _evidence_of(test, latencies), strict=strict)


def _evidence_of(test: PlannedTest, latencies: list[float | None]) -> Evidence:
    staged = staged_evidence(test, Scene(requests=len(latencies)))
    end_us = staged.record.marks.linger_end_us or 0
    rows = [_waiting(row, wait, end_us) for row, wait in zip(staged.requests, latencies, strict=True)]
    bound = sorted((row.bound_us, n) for n, row in enumerate(rows) if row.bound_us is not None)
    for number, (_, n) in enumerate(bound, start=1):
        rows[n] = rows[n]._replace(obs_seq=number)
    (binds,) = staged.metrics.families[BINDS]
    instants = [(t - staged.record.epoch_ms) * 1000 for t in binds.times_ms]
    counted = Series(
        BINDS, binds.labels, binds.times_ms, array("d", [sum(b <= at for b, _ in bound) for at in instants])
    )
    return replace(staged, requests=tuple(rows), metrics=Metrics({**staged.metrics.families, BINDS: [counted]}))


def _waiting(row: RequestRow, wait: float | None, end_us: int) -> RequestRow:
    bound = None if wait is None else (row.appeared_us or 0) + round(wait * 1e6)
    if bound is None or bound > end_us:
        return row._replace(state="waiting", bound_us=None, obs_seq=None)
    return row._replace(state="bound", bound_us=bound)


def _no_better(before: Verdict, after: Verdict) -> bool:
    gates: list[tuple[GateResult, GateResult]] = list(zip(before.gates, after.gates, strict=True))
    worse = all(_RANKS[b.outcome] >= _RANKS[a.outcome] for a, b in gates)
    return worse and _RUNS[after.outcome] >= _RUNS[before.outcome]


@settings(max_examples=20)
@given(sizes, st.integers(0, 8), st.sampled_from([29.0, 30.0, 30.5, 33.0, 60.0]), st.booleans())
def test_a_request_that_waits_longer_or_for_ever_never_helps(n: int, slow: int, slow_s: float, strict: bool) -> None:  # noqa: FBT001
    latencies: list[float | None] = [slow_s if k % (n // 9) == 0 and k // (n // 9) < slow else 1.0 for k in range(n)]
    before = _requests_judged(latencies, strict=strict)
    for at in (0, 1, n // 2, n - 1):
        for worse in ((latencies[at] or 0) + 3, 61.0, None):
            after = _requests_judged([*latencies[:at], worse, *latencies[at + 1 :]], strict=strict)
            assert _no_better(before, after), (at, worse)


@settings(max_examples=20)
@given(sizes, st.integers(0, 8), st.sampled_from([29.0, 30.5, 33.0]))
def test_one_more_sample_at_or_above_the_quantile_never_helps(n: int, slow: int, slow_s: float) -> None:
    latencies: list[float | None] = [*[1.0] * (n - slow), *[slow_s] * slow]
    before = _requests_judged(latencies)
    worst = before.gates[0].value
    assert worst is not None
    for more in (worst.low, 100.0, None):
        after = _requests_judged([*latencies, more])
        assert _RANKS[after.gates[0].outcome] >= _RANKS[before.gates[0].outcome], more


def test_only_enough_samples_show_a_quantile_when_strict() -> None:
    assert _requests_judged([1.0] * 298, strict=True).outcome is RunOutcome.INCONCLUSIVE
    assert _requests_judged([1.0] * 299, strict=True).gates[0].outcome is Outcome.PASS
    assert _requests_judged([*[1.0] * 298, 31.0], strict=True).gates[0].outcome is not Outcome.PASS


@given(waits, shares)
def test_a_quantile_is_a_sample_of_the_nearest_rank(values: list[float], share: float) -> None:
    found = Spread.of((value, value) for value in values).quantile(share)
    assert found.exact
    assert found.low == sorted(values)[max(1, ceil(len(values) * exact(share))) - 1]


@given(waits, shares, shares)
def test_a_quantile_rises_with_its_share(values: list[float], one: float, other: float) -> None:
    samples = Spread.of((value, value) for value in values)
    assert samples.quantile(min(one, other)).low <= samples.quantile(max(one, other)).low


@given(st.lists(st.tuples(seconds, seconds, seconds, st.booleans()), min_size=1, max_size=60), shares)
def test_brackets_hold_the_exact_quantile(drawn: list[tuple[float, float, float, bool]], share: float) -> None:
    truth = Spread.of((value, value) for value, *_ in drawn).quantile(share).low
    samples = Spread.of((max(0.0, v - less), inf if censored else v + more) for v, less, more, censored in drawn)
    bracket = samples.quantile(share)
    assert bracket.low <= truth
    assert bracket.high is None or truth <= bracket.high
    assert samples.over(truth) >= sum(value > truth for value, *_ in drawn)


@given(waits, shares, st.lists(st.sampled_from([0.5, 1.0, 5.0, 30.0, 33.0, 100.0]), unique=True))
def test_a_histogram_holds_the_exact_quantile_of_its_data(
    values: list[float], share: float, edges: list[float]
) -> None:
    lower, counts = -1.0, []
    for edge in (*sorted(edges), inf):
        counts.append((edge, sum(lower < value <= edge for value in values)))
        lower = edge
    truth = Spread.of((value, value) for value in values).quantile(share).low
    bracket = histogram_quantile(HistogramDelta(tuple(counts)), share)
    assert bracket.low <= truth
    assert bracket.high is None or truth <= bracket.high


brackets = st.tuples(seconds, seconds, st.booleans()).map(
    lambda drawn: Bracket(min(drawn[:2]), None if drawn[2] else max(drawn[:2]))
)


def _raised(bracket: Bracket, by: float) -> Bracket:
    return Bracket(bracket.low + by, None if bracket.high is None else bracket.high + by)


@given(brackets, brackets, seconds, st.booleans())
def test_a_higher_soak_or_tail_is_never_judged_better(soak: Bracket, tail: Bracket, by: float, decides: bool) -> None:  # noqa: FBT001
    order = {Outcome.PASS: 0, Outcome.MARGINAL: 1, Outcome.UNMEASURED: 2, Outcome.FAIL: 3}
    first, _ = judged(soak, tail, bar=30.0, tail_decides=decides)
    for worse in ((_raised(soak, by), tail), (soak, _raised(tail, by)), (Bracket(soak.low, None), tail)):
        assert order[judged(*worse, bar=30.0, tail_decides=decides)[0]] >= order[first]


@pytest.mark.parametrize("value", [30.0, 33.0 - 1e-9, 33.0])
def test_the_bar_itself_passes_and_a_tenth_over_it_fails(value: float) -> None:
    outcome, _ = judged(Bracket(value, value), Bracket(value, value), bar=30.0, tail_decides=False)
    assert outcome is {30.0: Outcome.PASS, 33.0: Outcome.FAIL}.get(value, Outcome.MARGINAL)
