"""How results are made: one function per way a gate can end, so that no gate invents its own words for it."""

from collections.abc import Sequence

from scaletest.gates.case import Case
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.plan.gates import Gate

__all__ = ["not_applicable", "result", "unmeasured"]


def result(
    case: Case,
    gate: Gate,
    outcome: Outcome,
    *,
    reason: str,
    value: Bracket | None = None,
    samples: int | None = None,
    look_at: str = "",
    details: Sequence[tuple[str, str]] = (),
    tail: Bracket | None = None,
) -> GateResult:
    """Return a gate's result with everything that the plan already knows about it."""
    return GateResult(
        name=gate.name,
        outcome=outcome,
        value=value,
        threshold=gate.threshold,
        comparison=gate.comparison,
        unit=gate.unit,
        samples=samples,
        window=gate.window_text(),
        source=case.role_text(gate.role),
        kind=gate.kind,
        reason=reason,
        look_at=look_at if outcome in {Outcome.FAIL, Outcome.MARGINAL} else "",
        details=tuple(details),
        tail=tail,
    )


def unmeasured(case: Case, gate: Gate, reason: str, *, samples: int | None = None) -> GateResult:
    """Return a result for a gate that could not be evaluated; it never passes."""
    return result(case, gate, Outcome.UNMEASURED, reason=reason, samples=samples)


def not_applicable(case: Case, gate: Gate, reason: str) -> GateResult:
    """Return a result for a gate that has nothing to judge, and for which that is known."""
    return result(case, gate, Outcome.NOT_APPLICABLE, reason=reason, samples=0)
