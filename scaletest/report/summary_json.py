"""summary.json: a run on one page for dashboards and scripts, of version 1; verdict.json has the whole."""

from collections import Counter
from typing import Any, Final

from scaletest.evidence.record import Phase, RunRecord
from scaletest.gates.outcomes import GateResult, Outcome, Verdict
from scaletest.plan.gates import Kind
from scaletest.report.canonical import canonical_text
from scaletest.report.verdict_json import gate_document

__all__ = ["SUMMARY_VERSION", "headline", "phase_duration_us", "summary_document", "summary_text"]

SUMMARY_VERSION: Final = 1

_HEADLINE_FIELDS: Final = ("name", "outcome", "value", "bracket", "bar", "unit", "margin", "samples", "window")


def summary_text(verdict: Verdict, record: RunRecord) -> str:
    """Return summary.json."""
    return canonical_text(summary_document(verdict, record))


def summary_document(verdict: Verdict, record: RunRecord) -> dict[str, Any]:
    """Return the summary of a judged run as plain values; the verdict says what, the record says how it ran."""
    counts = Counter(gate.outcome for gate in verdict.gates)
    first = headline(verdict)
    return {
        "version": SUMMARY_VERSION,
        "profile": verdict.profile,
        "world": verdict.world,
        "randomSeed": record.random_seed,
        "planDigest": verdict.plan_digest,
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "strict": verdict.strict,
        "exploratory": verdict.exploratory,
        "gateOutcomes": {str(outcome): counts[outcome] for outcome in Outcome},
        "failed": _names(verdict, Outcome.FAIL),
        "unmeasured": _names(verdict, Outcome.UNMEASURED),
        "defects": len(verdict.defects),
        "headline": None if first is None else _headline(first),
        "phases": [_phase(phase) for phase in record.phases],
        "duration_us": sum(phase_duration_us(phase) or 0 for phase in record.phases),
        "sealed": record.sealed,
        "hashes": dict(record.hashes),
        "versions": dict(record.versions),
    }


def headline(verdict: Verdict) -> GateResult | None:
    """Return the gate to show alone: the first that applies and was measured, for the plan lists them in that order.

    A number that the world models, or that the profile put in, says nothing about the engine.
    """
    fit = (g for g in verdict.gates if g.kind is Kind.MEASURED and g.outcome is not Outcome.NOT_APPLICABLE)
    return next(fit, None)


def phase_duration_us(phase: Phase) -> int | None:
    """Return how long a phase took; None when it never ended."""
    return None if phase.end_us is None else max(0, phase.end_us - phase.start_us)


def _headline(gate: GateResult) -> dict[str, Any]:
    document = gate_document(gate)
    return {key: document[key] for key in _HEADLINE_FIELDS}


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name,
        "outcome": phase.outcome,
        "start_us": phase.start_us,
        "duration_us": phase_duration_us(phase),
    }


def _names(verdict: Verdict, outcome: Outcome) -> list[str]:
    return [gate.name for gate in verdict.gates if gate.outcome is outcome]
