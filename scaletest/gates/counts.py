"""Gates on counters: bounded reclaim, bootstraps that succeed, preemptions, restarts, shards."""

from math import floor, isfinite
from typing import Final

from scaletest.evidence import Series
from scaletest.gates.case import Case, Span
from scaletest.gates.counters import Count, boundary, count_between, histograms_between, is_run, shards_beside
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.results import not_applicable, result, unmeasured
from scaletest.model.instants import exact
from scaletest.plan.gates import Gate

__all__ = ["bootstrap_success", "ledger_doubt", "preemptions", "reclaim_bound", "restarts", "shards_reporting"]

_FEW: Final = 100


def reclaim_bound(case: Case, gate: Gate) -> GateResult:
    """Judge the raw number of reclaims between settle mark and soak end.

    A doubtful counter gives a lower bound: over the bar it fails all the same, under it nothing is known.
    """
    count = count_between(case, gate.role, case.settled)
    doubt = count.doubt or ledger_doubt(case, count)
    bar = float(gate.threshold)
    minutes = (case.settled.end_us - case.settled.start_us) / 60_000_000
    details = [("per minute", f"{count.number / minutes:.2f}" if minutes else "-"), *_by_archetype(case)]
    value = Bracket(count.number, None if doubt else count.number)
    look = "actions ledger: kind Reclaim, by rule, domain and Need"
    if count.number > bar:
        reason = f"at least {count.number:,} reclaims ({doubt})" if doubt else f"{count.number:,} reclaims"
        return result(case, gate, Outcome.FAIL, reason=reason, value=value, samples=2, look_at=look, details=details)
    if doubt:
        return unmeasured(case, gate, doubt)
    return result(
        case, gate, Outcome.PASS, reason=f"{count.number:,} reclaims", value=value, samples=2, details=details
    )


def bootstrap_success(case: Case, gate: Gate) -> GateResult:
    """Judge the share of bootstraps that succeeded, as a number of failures; one alone below 100 is marginal."""
    count = count_between(case, gate.role, case.soak)
    if count.doubt:
        return unmeasured(case, gate, count.doubt)
    if not count.number:
        return not_applicable(case, gate, "no bootstrap ended, by a valid counter")
    if "success" not in count.ends or len(count.ends) < 2:
        return unmeasured(case, gate, "success and failure need a series each, at zero if need be")
    first, last = count.ends["success"]
    failures = count.number - (last - first)
    allowed = floor((1 - exact(float(gate.threshold))) * count.number)
    value = Bracket(1 - failures / count.number, 1 - failures / count.number)
    outcome = Outcome.PASS if failures <= allowed else Outcome.FAIL
    if outcome is Outcome.FAIL and failures == 1 and count.number < _FEW:
        outcome = Outcome.MARGINAL
    reason = f"{failures:,} of {count.number:,} failed"
    look = "actions ledger: kind Bootstrap, by outcome"
    return result(case, gate, outcome, reason=reason, value=value, samples=count.number, look_at=look)


def preemptions(case: Case, gate: Gate) -> GateResult:
    """Judge that preemption happened during the soak."""
    count = count_between(case, gate.role, case.soak)
    value = Bracket(count.number, count.number)
    if count.doubt:
        return unmeasured(case, gate, count.doubt)
    if count.number:
        return result(case, gate, Outcome.PASS, reason=f"{count.number:,} preemptions", value=value, samples=2)
    look = "was the burst delivered, and was there headroom for it after all?"
    return result(case, gate, Outcome.FAIL, reason="no preemption happened", value=value, samples=2, look_at=look)


def restarts(case: Case, gate: Gate) -> GateResult:
    """Judge that every engine process lived through the run: from the soak's start to its end at the least."""
    role = case.test.roles.get(gate.role)
    # The ground's own processes may be scraped too, under the same metric: they are no part of the engine.
    targets_told = case.evidence.record.targets
    series = case.evidence.metrics.find(role.metric, target=targets_told) if role else []
    if not series:
        return unmeasured(case, gate, f"no series of {case.role_text(gate.role)}")
    span = Span(0, case.end_us)
    number, seen = 0, 0
    targets = {each.labels.get("target", "") for each in series}
    silent = bool(shards_beside(case, targets) - targets)
    for each in series:
        values = [v for _, v in each.between(case.time_ms(span.start_us), case.time_ms(span.end_us)) if isfinite(v)]
        silent = silent or not values or _silent(case, each)
        number += max(0, len(set(values)) - 1)
        seen += len(values)
    if silent and number <= float(gate.threshold):
        return unmeasured(case, gate, "a process did not say when it started")
    outcome = Outcome.PASS if number <= float(gate.threshold) else Outcome.FAIL
    reason = f"{number:,} restarts" if number else "every process lived through the run"
    look = "the engine's log around the restart"
    return result(case, gate, outcome, reason=reason, value=Bracket(number, number), samples=seen, look_at=look)


def _silent(case: Case, starts: Series) -> bool:
    """Say whether a process kept its start to itself: it must be known at both ends of the soak."""
    if starts.conflicts or not all(isfinite(value) for value in starts.values):
        return True
    target = starts.labels.get("target", "")
    ends = [boundary(case, target, mark) for mark in (case.soak.start_us, case.soak.end_us) if case.started]
    return any(end.missing or starts.at(end.time_ms) is None for end in ends)


def shards_reporting(case: Case, gate: Gate) -> GateResult:
    """Judge that every shard ran cycles during the soak."""
    found = histograms_between(case, gate.role, case.soak)
    if found.doubt:
        return unmeasured(case, gate, found.doubt)
    alive = sum(delta.total > 0 for delta in found.by_instance.values())
    outcome = Outcome.PASS if alive >= float(gate.threshold) else Outcome.FAIL
    reason = f"{alive:,} of {gate.threshold} shards ran cycles"
    look = "which shard's cycle counter stands still"
    return result(case, gate, outcome, reason=reason, value=Bracket(alive, alive), samples=alive, look_at=look)


def ledger_doubt(case: Case, count: Count) -> str:
    """Return why the ledger contradicts the counter: each counted action must be one row, numbered without a gap."""
    if not case.test.ledger or count.doubt:
        return ""
    for kind, (base, end) in sorted(count.ends.items()):
        numbers = sorted(row.seq for row in case.evidence.actions if row.kind == kind and base < row.seq <= end)
        if not is_run(numbers, base + 1, end):
            return f"the ledger has {len(numbers):,} {kind} rows where the counter says {end - base:,}"
    return ""


def _by_archetype(case: Case) -> list[tuple[str, str]]:
    """Return who lost most machines; demand that no request of the run belongs to is named by its fingerprint."""
    names = {row.fingerprint: row.archetype for row in case.evidence.requests}
    groups: dict[str, int] = {}
    for row in case.evidence.actions:
        if row.kind == "Reclaim" and case.settled.holds(row.at_us):
            name = names.get(row.fingerprint, row.fingerprint)
            groups[name] = groups.get(name, 0) + 1
    return [(f"reclaims of {name}", f"{n:,}") for name, n in sorted(groups.items(), key=lambda g: (-g[1], g[0]))[:3]]
