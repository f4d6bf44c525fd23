"""Latency bars (ADR-0035): the whole soak and its tail against one bar, with brackets.

A tail at or above 1.1 bars fails; a soak at or under the bar passes; between them is marginal. A soak above 1.1 bars
with a clean tail fails, unless the profile says that the tail decides.
"""

from collections.abc import Sequence
from math import inf
from typing import Final

from scaletest.evidence import RequestRow
from scaletest.gates.case import Case
from scaletest.gates.counters import histograms_between
from scaletest.gates.cycles import cycle_rows
from scaletest.gates.ledger import ledger_gap
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.quantiles import Spread, histogram_quantile
from scaletest.gates.results import not_applicable, result, unmeasured
from scaletest.gates.waits import Waits, all_waits
from scaletest.model.instants import US_PER_SECOND, exact
from scaletest.plan.claims import allowed_over
from scaletest.plan.gates import Gate

__all__ = ["binding_latency", "cycle_duration", "histogram_latency", "judged"]

_FAIL_SHARE: Final = exact(1.1)
_FEWEST: Final = 0.75
"""Where the plan expects events, a smaller share of them is no measurement: one of two clusters may be missing."""
_FEWEST_CYCLES: Final = 0.5
"""Wake-ups coalesce, so fewer cycles than wake-ups are no fault."""
_LOOK: Final = {
    "internalBindingLatencyP99Seconds": "requests ledger: the slowest rows, their path and milestones",
    "shardCycleDurationP99Seconds": "cycles ledger: rows of demand and duration of the slowest cycles",
}


def judged(soak: Bracket, tail: Bracket, *, bar: float, tail_decides: bool) -> tuple[Outcome, str]:
    """Return the outcome of a latency bar and the sentence that says why."""
    limit = float(_FAIL_SHARE * exact(bar))
    if tail.low >= limit:
        return Outcome.FAIL, "the tail is 10 % over the bar or more"
    if soak.low >= limit and not tail_decides:
        return Outcome.FAIL, "the soak is 10 % over the bar or more, with a clean tail"
    deciding = tail if tail_decides else soak
    tail_high, high = _high(tail), _high(deciding)
    if high <= bar and tail_high < limit:
        return Outcome.PASS, "within the bar"
    if high < limit and tail_high < limit:
        return Outcome.MARGINAL, "over the bar by less than 10 %"
    return Outcome.UNMEASURED, "the bracket reaches from under the bar to above it: the data cannot tell"


def binding_latency(case: Case, gate: Gate) -> GateResult:
    """Judge how long planned replacements waited; new-machine gates look only at those."""
    if doubt := ledger_gap(case):
        return unmeasured(case, gate, doubt)
    waits = all_waits(case)
    if gate.rule.startswith("newMachine"):
        waits = waits.where(_waits_for_machine)
    if not waits.rows and gate.expected_samples is None and case.samples:
        return not_applicable(case, gate, "no request needed a new machine")
    if not waits.rows:
        return unmeasured(case, gate, "no request was measured")
    if not waits.in_tail:
        return unmeasured(case, gate, "no request was planned in the tail", samples=len(waits.rows))
    return _latency_result(case, gate, waits.all, waits.in_tail, details=_breakdown(waits, gate.quantile or 0.5))


def _waits_for_machine(row: RequestRow) -> bool:
    """Say whether a request took a new machine, or may be waiting for one still: leaving those out would flatter."""
    return row.path == "new-machine" or row.bound_us is None


def cycle_duration(case: Case, gate: Gate) -> GateResult:
    """Judge the measured compute time of cycles where it was recorded, else the engine's own histogram.

    In the simulated world the histogram is modelled, so it cannot stand in for compute times that are missing.
    """
    if not case.evidence.compute and case.test.world == "sim" and case.test.ledger:
        return unmeasured(case, gate, "no compute time was recorded")
    if not case.evidence.compute:
        return histogram_latency(case, gate)
    compute = {row.cycle: row.compute_us / US_PER_SECOND for row in case.evidence.compute}
    cycles, doubt = cycle_rows(case, case.soak, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(cycles))
    if len(compute) != len(case.evidence.compute) or not all(row.cycle in compute for row in cycles):
        return unmeasured(case, gate, "the compute times do not match the cycles")
    soak = Spread.of((compute[row.cycle],) * 2 for row in cycles)
    tail = Spread.of((compute[row.cycle],) * 2 for row in cycles if case.tail.holds(row.at_us))
    if not tail:
        return unmeasured(case, gate, "no cycle ran in the tail", samples=len(cycles))
    return _latency_result(case, gate, soak, tail)


def histogram_latency(case: Case, gate: Gate) -> GateResult:
    """Judge a histogram role by its worst instance; a fleet-wide quantile would hide one sick cluster."""
    soak, tail = (histograms_between(case, gate.role, span) for span in (case.soak, case.tail))
    if soak.doubt or tail.doubt:
        return unmeasured(case, gate, soak.doubt or tail.doubt)
    if not soak.total and gate.expected_samples is None:
        return not_applicable(case, gate, "nothing happened, by a valid counter")
    if reason := _too_few(gate, soak.total):
        return unmeasured(case, gate, reason, samples=soak.total)
    share = gate.quantile or 0.5
    worst, instance = _worst({i: histogram_quantile(d, share) for i, d in soak.by_instance.items() if d.total})
    late, _ = _worst({i: histogram_quantile(d, share) for i, d in tail.by_instance.items() if d.total} or {"": worst})
    bar = _seconds(gate)
    over = sum(count for delta in soak.by_instance.values() for edge, count in delta.counts if edge > bar)
    outcome, reason, figures = _outcome(case, gate, worst, late, over=over, samples=soak.total)
    details = [("worst instance", instance), ("instances", str(len(soak.by_instance))), *figures]
    look = "look at the worst instance's log and load"
    return result(
        case, gate, outcome, reason=reason, value=worst, tail=late, samples=soak.total, look_at=look, details=details
    )


def _latency_result(
    case: Case,
    gate: Gate,
    soak: Spread,
    tail: Spread,
    *,
    details: Sequence[tuple[str, str]] = (),
) -> GateResult:
    share = gate.quantile or 0.5
    value, late, over = soak.quantile(share), tail.quantile(share), soak.over(_seconds(gate))
    outcome, reason, figures = _outcome(case, gate, value, late, over=over, samples=len(soak))
    look, figures = _LOOK.get(gate.rule, "requests ledger: the slowest rows"), [*figures, *details]
    return result(
        case, gate, outcome, reason=reason, value=value, tail=late, samples=len(soak), look_at=look, details=figures
    )


def _outcome(
    case: Case, gate: Gate, soak: Bracket, tail: Bracket, *, over: int, samples: int
) -> tuple[Outcome, str, list[tuple[str, str]]]:
    """Return the outcome of a latency gate, why, and the figures that always stand beside it."""
    outcome, reason = judged(soak, tail, bar=_seconds(gate), tail_decides=case.test.judge_tail)
    allowed = allowed_over(samples, gate.quantile or 0.5)
    shown = allowed is not None and over <= allowed
    if case.strict and outcome is Outcome.PASS and not shown:
        outcome = Outcome.UNMEASURED
        reason = "within the bar, but not shown with 95 % confidence by so few samples (strict)"
    word = "yes" if shown else "no"
    return outcome, reason, [("tail", _text(tail)), ("over the bar", f"{over:,}"), ("shown with 95 % confidence", word)]


def _breakdown(waits: Waits, share: float) -> list[tuple[str, str]]:
    """Return the worst of every way to split the requests, and the figures that always stand beside the headline."""
    figures = []
    for title, groups in (
        ("worst cluster", waits.by_cluster),
        ("worst archetype", waits.by_archetype),
        ("worst priority", waits.by_priority),
        ("worst fingerprint", waits.by_fingerprint),
    ):
        worst, name = _worst({n: samples.quantile(share) for n, samples in sorted(groups.items())})
        figures.append((title, f"{name}: {_text(worst)} of {len(groups[name]):,}"))
    for path in ("present", "new-machine"):
        samples = waits.by_path.get(path)
        figures.append((f"path {path}", f"{_text(samples.quantile(share))} of {len(samples):,}" if samples else "none"))
    figures.append(("planned to bound", _text(waits.since_plan.quantile(share))))
    figures.append(("bound before its request existed", f"{waits.early:,}"))
    return figures


def _too_few(gate: Gate, samples: int) -> str:
    expected = gate.expected_samples
    if not samples:
        return "nothing was measured, although the plan expects it"
    share = _FEWEST_CYCLES if gate.role == "cycleDuration" else _FEWEST
    if expected is not None and samples < share * expected:
        return f"{samples:,} measured where the plan expects {expected:,}"
    return ""


def _worst(brackets: dict[str, Bracket]) -> tuple[Bracket, str]:
    """Return the highest bracket and its name."""
    name = max(sorted(brackets), key=lambda n: (_high(brackets[n]), brackets[n].low))
    low = max(bracket.low for bracket in brackets.values())
    return Bracket(low, brackets[name].high), name


def _high(bracket: Bracket) -> float:
    return inf if bracket.high is None else bracket.high


def _seconds(gate: Gate) -> float:
    assert not isinstance(gate.threshold, str), gate.name
    return float(gate.threshold)


def _text(bracket: Bracket) -> str:
    if bracket.exact:
        return f"{bracket.low:.3f} s"
    high = "unbounded" if bracket.high is None else f"{bracket.high:.3f} s"
    return f"{bracket.low:.3f} s to {high}"
