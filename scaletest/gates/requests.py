"""Gates on the request ledger beyond latency: how many Pods were bound, whole gangs, and whether steady was reached."""

from scaletest.gates.case import Case
from scaletest.gates.ledger import ledger_gap
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.results import not_applicable, result, unmeasured
from scaletest.plan.gates import Gate

__all__ = ["bound_share", "gang_bind_share", "steady_reached"]

_EMPTY_US = 10_000_000
"""A slot may be without a Pod this long; from then on it counts as not bound."""


def bound_share(case: Case, gate: Gate) -> GateResult:
    """Judge the lowest share of bound Pods at any instant of the soak, swept from every request's waiting time."""
    if doubt := ledger_gap(case) or ("" if case.evidence.requests else "no request was recorded"):
        return unmeasured(case, gate, doubt)
    most = _most_waiting(case)
    share = 1 - most / case.test.pods
    outcome = Outcome.PASS if share >= float(gate.threshold) else Outcome.FAIL
    reason = f"at most {most:,} of {case.test.pods:,} Pods waited at once"
    look = "requests ledger: who waited at the worst instant, and for what"
    samples = len(case.evidence.requests)
    return result(case, gate, outcome, reason=reason, value=Bracket(share, share), samples=samples, look_at=look)


def _most_waiting(case: Case) -> int:
    """Return how many Pods waited at once, at the worst instant of the soak."""
    soak, starts, ends = case.soak, list[int](), list[int]()
    for row in case.evidence.requests:
        if row.state in {"void", "undelivered"}:
            continue
        start = row.planned_us + _EMPTY_US if row.appeared_us is None else row.appeared_us
        start = max(start, soak.start_us)
        if start < soak.end_us and (row.bound_us is None or row.bound_us > start):
            starts.append(start)
            if row.bound_us is not None:
                ends.append(row.bound_us)
    starts.sort()
    ends.sort()
    most = ended = 0
    for begun, start in enumerate(starts, start=1):
        # At one instant ends come first: a Pod that binds as another appears never waits beside it.
        while ended < len(ends) and ends[ended] <= start:
            ended += 1
        most = max(most, begun - ended)
    return most


def gang_bind_share(case: Case, gate: Gate) -> GateResult:
    """Judge the share of gangs that are bound whole at soak end."""
    gangs = gate.expected_samples or 0
    if not gangs:
        return not_applicable(case, gate, "the plan has no gangs")
    if doubt := ledger_gap(case) or ("" if case.evidence.requests else "no request was recorded"):
        return unmeasured(case, gate, doubt)
    end = case.soak.end_us
    torn = {
        (row.cluster, row.workload)
        for row in case.evidence.requests
        if row.gang and row.state in {"bound", "waiting"} and row.planned_us < end
        if row.bound_us is None or row.bound_us > end
    }
    share = 1 - len(torn) / gangs
    outcome = Outcome.PASS if share >= float(gate.threshold) else Outcome.FAIL
    reason = f"{len(torn):,} of {gangs:,} gangs are not whole"
    look = "which rack or zone the members wait for"
    return result(case, gate, outcome, reason=reason, value=Bracket(share, share), samples=gangs, look_at=look)


def steady_reached(case: Case, gate: Gate) -> GateResult:
    """Judge that the fleet was steady in time; nothing else can be judged without it."""
    phases = [phase for phase in case.evidence.record.phases if phase.name == "steady"]
    if not phases:
        return unmeasured(case, gate, "the run never came to the steady check")
    ok = phases[-1].outcome == "ok" and case.started
    if not ok and phases[-1].outcome == "interrupted":
        return unmeasured(case, gate, "the run was interrupted before it was steady")
    reason = "steady" if ok else f"not steady in time: {phases[-1].detail or 'no detail was recorded'}"
    look = "the phase's detail, and demand against seeded machines in the plan"
    return result(case, gate, Outcome.PASS if ok else Outcome.FAIL, reason=reason, samples=1, look_at=look)
