"""Gates on the rows of the cycle ledger: shortfalls, flips, claimed sets, the reclaim cap, drills."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from scaletest.evidence import CycleRow
from scaletest.gates.case import Case, Span
from scaletest.gates.counters import is_run, numbers_between
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.results import not_applicable, result, unmeasured
from scaletest.model import US_PER_SECOND
from scaletest.plan.gates import Gate

__all__ = [
    "before_first_rollup",
    "claimed_set_changes",
    "cycle_rows",
    "domain_flips",
    "drill",
    "no_shortfall",
    "reclaim_cap",
    "shortfall_confined",
    "shortfall_stability",
    "standing_shortfall",
]

_OLDEST: Final = 5
"""A shortfall may last this many cycles."""
_SETTLED_SHARE: Final = 0.02
_MINUTE_US: Final = 60_000_000
_PAUSES: Final = 10
"""A window in which one in so many parts saw no cycle says nothing about that part, least of all about its end."""


def no_shortfall(case: Case, gate: Gate) -> GateResult:
    """Judge that no shortfall lasts, and that none is left at soak end."""
    rows, doubt = cycle_rows(case, case.soak, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    oldest, left = max(row.oldest_shortfall_cycles for row in rows), rows[-1].shortfalls
    outcome = Outcome.PASS if oldest <= _OLDEST and not left else Outcome.FAIL
    touched = sum(row.shortfalls > 0 for row in rows)
    reason = f"oldest {oldest} cycles, {left:,} at soak end"
    details = [("shortfall-cycles", f"{touched:,}"), ("largest", f"{max(row.shortfalls for row in rows):,}")]
    look = "explain a cycle with a shortfall: which Need, and why nothing was acquired"
    value = Bracket(left, left)
    return result(case, gate, outcome, reason=reason, value=value, samples=len(rows), look_at=look, details=details)


def standing_shortfall(case: Case, gate: Gate) -> GateResult:
    """Judge that the shortage a scarcity profile is made of really stands through the tail."""
    rows, doubt = cycle_rows(case, case.tail, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    least = min(row.shortfalls for row in rows)
    outcome = Outcome.PASS if least else Outcome.FAIL
    reason = f"never below {least:,}" if least else "the shortfall went away: scarcity was vacuous"
    look = "supply against demand in the plan"
    return result(case, gate, outcome, reason=reason, value=Bracket(least, least), samples=len(rows), look_at=look)


def shortfall_stability(case: Case, gate: Gate) -> GateResult:
    """Judge by how much the shortfall moves over the tail."""
    rows, doubt = cycle_rows(case, case.tail, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    moved = max(row.shortfalls for row in rows) - min(row.shortfalls for row in rows)
    return _at_most(case, gate, moved, rows, reason=f"moved by {moved:,}", look="cycles ledger: shortfalls over time")


def shortfall_confined(case: Case, gate: Gate) -> GateResult:
    """Judge that no class above the named one goes short."""
    rows, doubt = cycle_rows(case, case.soak, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    floor = str(gate.threshold).rsplit(" ", 1)[-1]
    above = max(row.shortfalls_critical + (row.shortfalls_service if floor == "batch" else 0) for row in rows)
    outcome = Outcome.FAIL if above else Outcome.PASS
    reason = f"up to {above:,} above {floor}" if above else f"none above {floor}"
    look = "explain a cycle: which higher Need went short while a lower one held machines"
    return result(case, gate, outcome, reason=reason, value=Bracket(above, above), samples=len(rows), look_at=look)


def domain_flips(case: Case, gate: Gate) -> GateResult:
    """Judge how often gangs change their rack or zone."""
    return _per_gang_minute(case, gate, lambda row: row.domain_flips)


def claimed_set_changes(case: Case, gate: Gate) -> GateResult:
    """Judge how often the machines claimed for gangs change."""
    return _per_gang_minute(case, gate, lambda row: row.claimed_set_changes)


def reclaim_cap(case: Case, gate: Gate) -> GateResult:
    """Judge the largest share of a cluster's machines reclaimed in one cycle."""
    rows, doubt = cycle_rows(case, case.soak, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    share = max(row.worst_reclaim_ppm for row in rows) / 1_000_000
    return _at_most(
        case, gate, share, rows, reason=f"at most {share:.1%} in a cycle", look="the cycle with most reclaims"
    )


def before_first_rollup(case: Case, gate: Gate) -> GateResult:
    """Judge that nothing is reclaimed from a cluster that has not spoken yet, from the engine's first cycle on."""
    _, doubt = cycle_rows(case, case.soak, gate)
    rows = sorted(row for row in case.evidence.cycles if row.at_us < case.soak.end_us)
    known = [row.cycle for row in rows]
    if known != list(range(1, len(known) + 1)):
        doubt = doubt or "the cycle ledger does not begin with the engine's first cycle, or has gaps"
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    number = sum(row.reclaims_before_rollup for row in rows)
    return _at_most(case, gate, number, rows, reason=f"{number:,} reclaims", look="the engine's first cycles")


def drill(case: Case, gate: Gate) -> GateResult:
    """Judge how a fleet follows a change of demand: how soon it settles, how far it overshoots, whether it drifts."""
    rows, doubt = cycle_rows(case, case.soak, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    levels = _levels(case, rows)
    if any(level is None for level in levels):
        return unmeasured(case, gate, "a stretch between two changes has no cycles", samples=len(rows))
    measure = {
        "maxDrillSettleSeconds": _settle_seconds,
        "maxDrillOvershootFraction": _overshoot,
        "maxDrillDriftFraction": _drift,
    }[gate.rule]
    value = measure(case, rows, [level or 0.0 for level in levels])
    drills = len(case.test.drills)
    outcome = Outcome.PASS if value <= float(gate.threshold) else Outcome.FAIL
    text = ", ".join(f"{level:,.0f}" for level in levels if level is not None)
    reason = f"{value:.3g} over {drills} changes"
    look = "cycles ledger: configured machines around each change of demand"
    return result(
        case,
        gate,
        outcome,
        reason=reason,
        value=Bracket(value, value),
        samples=drills,
        look_at=look,
        details=[("levels", text)],
    )


def _stretches(case: Case) -> list[tuple[Span, float]]:
    """Return the stretches of constant demand with their multiplier."""
    marks = [(0, 1.0), *case.test.drills, (case.test.soak_us, 0.0)]
    start = case.soak.start_us
    return [(Span(start + a, start + b), m) for (a, m), (b, _) in pairwise(marks)]


def _levels(case: Case, rows: Sequence[CycleRow]) -> list[float | None]:
    """Return the level each stretch ends on: the median of its last quarter."""
    levels: list[float | None] = []
    for span, _ in _stretches(case):
        late = Span(span.end_us - (span.end_us - span.start_us) // 4, span.end_us)
        configured = [row.configured for row in rows if late.holds(row.at_us)]
        levels.append(median(configured) if configured else None)
    return levels


def _settle_seconds(case: Case, rows: Sequence[CycleRow], levels: Sequence[float]) -> float:
    longest = 0.0
    for (span, _), before, level in zip(_stretches(case)[1:], levels, levels[1:], strict=False):
        band = max(1.0, _SETTLED_SHARE * abs(level - before))
        outside = [row.at_us for row in rows if span.holds(row.at_us) and abs(row.configured - level) > band]
        longest = max(longest, (max(outside, default=span.start_us) - span.start_us) / 1_000_000)
    return longest


def _overshoot(case: Case, rows: Sequence[CycleRow], levels: Sequence[float]) -> float:
    worst = 0.0
    for (span, _), before, level in zip(_stretches(case)[1:], levels, levels[1:], strict=False):
        change = level - before
        beyond = [(row.configured - level) * (1 if change > 0 else -1) for row in rows if span.holds(row.at_us)]
        if change:
            worst = max(worst, max(beyond, default=0.0) / abs(change))
    return worst


def _drift(case: Case, _: Sequence[CycleRow], levels: Sequence[float]) -> float:
    groups: dict[float, list[float]] = {}
    for (_span, multiplier), level in zip(_stretches(case), levels, strict=True):
        groups.setdefault(multiplier, []).append(level)
    return max((max(g) - min(g)) / max(1.0, sum(g) / len(g)) for g in groups.values())


def _per_gang_minute(case: Case, gate: Gate, events_of: Callable[[CycleRow], int]) -> GateResult:
    rows, doubt = cycle_rows(case, case.settled, gate)
    if doubt:
        return unmeasured(case, gate, doubt, samples=len(rows))
    gangs = sum(row.gangs for row in rows) / len(rows)
    minutes = (case.settled.end_us - case.settled.start_us) / _MINUTE_US
    if not gangs:
        return not_applicable(case, gate, "there were no gangs that cannot fold")
    events = sum(events_of(row) for row in rows)
    rate = events / (gangs * minutes)
    reason = f"{events:,} over {gangs * minutes:,.0f} gang-minutes"
    return _at_most(case, gate, rate, rows, reason=reason, look="explain two neighbouring cycles of a gang that moved")


def _at_most(case: Case, gate: Gate, number: float, rows: Sequence[CycleRow], *, reason: str, look: str) -> GateResult:
    outcome = Outcome.PASS if number <= float(gate.threshold) else Outcome.FAIL
    return result(case, gate, outcome, reason=reason, value=Bracket(number, number), samples=len(rows), look_at=look)


def _expected_in(span: Span, gate: Gate) -> int:
    """Return the cycles that the plan expects in a part of the gate's window."""
    window_us = gate.end_us - gate.start_us
    share_us = min(span.end_us - span.start_us, window_us)
    return (gate.expected_samples or 0) * share_us // window_us if window_us else 0


def cycle_rows(case: Case, span: Span, gate: Gate) -> tuple[list[CycleRow], str]:
    """Return the cycles of a span, or why they cannot be judged.

    A cycle's number is its counter's value after it, so which rows belong to the span, and that none is missing, is
    exact whatever the clocks say.
    """
    rows = case.cycles(span)
    if not case.test.ledger:
        return rows, "the engine writes no cycle ledger"
    numbers, doubt = numbers_between(case, f"{case.test.roles['cycleDuration'].metric}_count", span)
    if doubt:
        return rows, doubt
    if numbers is not None:
        rows = sorted(row for row in case.evidence.cycles if row.cycle in numbers.given)
        span = numbers.scraped
    if not rows:
        return rows, "no cycle was recorded"
    known = [row.cycle for row in rows]
    given = numbers.given if numbers is not None else range(known[0], known[0] + len(rows))
    if not is_run(known, given[0], given[-1]):
        return rows, "the cycle ledger has gaps or repeats"
    if any(b.at_us < a.at_us for a, b in pairwise(rows)):
        return rows, "the cycle ledger's clock runs backwards"
    instants = [span.start_us, *(row.at_us for row in rows), span.end_us]
    # An engine whose clusters all speak at once rests a whole interval; a short window must not call that a gap.
    longest_us = max((span.end_us - span.start_us) // _PAUSES, case.test.rollup_interval_us * 3 // 2)
    if (pause_us := max(b - a for a, b in pairwise(instants))) > longest_us:
        return rows, f"no cycle ran for {pause_us / US_PER_SECOND:.0f} s: what stood there then is not known"
    expected = _expected_in(span, gate)
    if len(rows) * 2 < expected:
        return rows, f"{len(rows):,} cycles where the plan expects {expected:,}"
    return rows, ""
