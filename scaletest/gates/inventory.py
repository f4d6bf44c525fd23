"""Gates on gauges read at boundaries: where machines ended up, and whether anything leaks over a long soak."""

from typing import Final

from scaletest.evidence import Series
from scaletest.gates.case import Case
from scaletest.gates.counters import values_at
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.results import result, unmeasured
from scaletest.plan.gates import Gate

__all__ = [
    "cost_misrouted",
    "cost_routing",
    "excess_returned",
    "failed_growth",
    "memory_growth",
    "transitional_growth",
]

_MIB: Final = 1024 * 1024
_TRANSITIONAL: Final = ("Creating", "Configuring", "Draining", "Deleting")


def cost_routing(case: Case, gate: Gate) -> GateResult:
    """Judge that demand landed on the capacity type which its interruption penalty makes cheaper."""
    pairs = (("Spot", case.test.tolerant_bucket), ("OnDemand", case.test.sensitive_bucket))
    routed = [_configured(case, (pair,)) for pair in pairs]
    if doubt := next((doubt for _, doubt in routed if doubt), ""):
        return unmeasured(case, gate, doubt)
    right = min(number for number, _ in routed)
    outcome = Outcome.PASS if right else Outcome.FAIL
    parts = ", ".join(f"{number:,} {kind}" for (kind, _), (number, _) in zip(pairs, routed, strict=True))
    reason = f"{parts} machines on their cheaper type"
    look = "effective cost of both tiers for the two penalties"
    return result(case, gate, outcome, reason=reason, value=Bracket(right, right), samples=1, look_at=look)


def cost_misrouted(case: Case, gate: Gate) -> GateResult:
    """Judge how many machines serve demand on the dearer capacity type."""
    wrong, doubt = _configured(case, (("OnDemand", case.test.tolerant_bucket), ("Spot", case.test.sensitive_bucket)))
    if doubt:
        return unmeasured(case, gate, doubt)
    outcome = Outcome.PASS if wrong <= float(gate.threshold) else Outcome.FAIL
    look = "actions ledger: Provision of the wrong tier, with its reason"
    return result(
        case, gate, outcome, reason=f"{wrong:,} misrouted", value=Bracket(wrong, wrong), samples=1, look_at=look
    )


def excess_returned(case: Case, gate: Gate) -> GateResult:
    """Judge that machines seeded beyond demand were given back: an engine that does nothing keeps them all."""
    last, doubt = values_at(case, gate.role, case.soak.end_us)
    if not doubt and all(series.labels.get("state") != "Configured" for series, _ in last):
        doubt = "no series with state=Configured; it must be there at zero"
    if doubt:
        return unmeasured(case, gate, doubt)
    left = _in(last, ("Configured",))
    outcome = Outcome.PASS if left <= float(gate.threshold) else Outcome.FAIL
    look = "actions ledger: does the engine act at all?"
    reason = f"{left:,.0f} Configured machines are left"
    return result(case, gate, outcome, reason=reason, value=Bracket(left, left), samples=1, look_at=look)


def memory_growth(case: Case, gate: Gate) -> GateResult:
    """Judge the growth of the engine's resident memory; in the simulated world, that of the process around it."""
    if case.test.world == "sim" and case.test.ledger:
        return _simulated_memory_growth(case, gate)
    first, doubt = values_at(case, gate.role, case.settled.start_us)
    last, more = values_at(case, gate.role, case.settled.end_us)
    if doubt or more:
        return unmeasured(case, gate, doubt or more)
    growth = (sum(value for _, value in last) - sum(value for _, value in first)) / _MIB
    return _growth(case, gate, growth, text=f"{growth:+,.1f} MiB")


def _simulated_memory_growth(case: Case, gate: Gate) -> GateResult:
    """Judge the memory recorded with each cycle: engine and ground share a process, so it is an upper bound."""
    _, doubt = values_at(case, "processStart", case.settled.end_us)
    if doubt:
        return unmeasured(case, gate, doubt)
    recorded = {row.cycle: row.resident_kib for row in case.evidence.compute if row.resident_kib > 0}
    cycles = case.cycles(case.settled)
    if not cycles or any(row.cycle not in recorded for row in (cycles[0], cycles[-1])):
        return unmeasured(case, gate, "no memory was recorded with the first or the last settled cycle")
    growth = (recorded[cycles[-1].cycle] - recorded[cycles[0].cycle]) / 1024
    return _growth(case, gate, growth, text=f"{growth:+,.1f} MiB of the whole process")


def failed_growth(case: Case, gate: Gate) -> GateResult:
    """Judge the growth of the number of Failed machines."""
    return _state_growth(case, gate, ("Failed",))


def transitional_growth(case: Case, gate: Gate) -> GateResult:
    """Judge the growth of the number of machines on their way between states."""
    return _state_growth(case, gate, _TRANSITIONAL)


def _state_growth(case: Case, gate: Gate, states: tuple[str, ...]) -> GateResult:
    first, doubt = values_at(case, gate.role, case.settled.start_us)
    last, more = values_at(case, gate.role, case.settled.end_us)
    if doubt or more:
        return unmeasured(case, gate, doubt or more)
    shown = {series.labels.get("state") for series, _ in last}
    if absent := [state for state in states if state not in shown]:
        return unmeasured(case, gate, f"no series with state={absent[0]}; it must be there at zero")
    growth = _in(last, states) - _in(first, states)
    return _growth(case, gate, growth, text=f"{growth:+,.0f} machines")


def _in(values: list[tuple[Series, float]], states: tuple[str, ...]) -> float:
    return sum(value for series, value in values if series.labels.get("state") in states)


def _growth(case: Case, gate: Gate, growth: float, *, text: str) -> GateResult:
    outcome = Outcome.PASS if growth <= float(gate.threshold) else Outcome.FAIL
    look = "the same figure over the whole soak: does it climb or did it jump?"
    return result(case, gate, outcome, reason=text, value=Bracket(growth, growth), samples=2, look_at=look)


def _configured(case: Case, wanted: tuple[tuple[str, str], ...]) -> tuple[int, str]:
    """Return the Configured machines of (capacity type, penalty bucket) pairs at soak end."""
    values, doubt = values_at(case, "inventory", case.soak.end_us)
    machines: dict[tuple[str | None, str | None], float] = {}
    for series, value in values:
        if series.labels.get("state") == "Configured":
            key = series.labels.get("capacity_type"), series.labels.get("interruption_penalty_bucket")
            machines[key] = machines.get(key, 0) + value
    for kind, bucket in wanted:
        if (kind, bucket) not in machines:
            doubt = doubt or f"no series of Configured {kind} machines of bucket {bucket}; it must be there at zero"
    return round(sum(machines.get(key, 0) for key in wanted)), doubt
