"""Figures that gate nothing and that a reader should see all the same."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import comb
from typing import Final

from scaletest.gates.case import Case
from scaletest.gates.outcomes import Information
from scaletest.gates.quantiles import Spread
from scaletest.model.instants import US_PER_SECOND

__all__ = ["information_of", "settle_adequacy"]

_ENOUGH: Final = 20
_SIGNIFICANT: Final = 0.05


def information_of(case: Case) -> Iterator[Information]:
    """Yield what is known about ramp, pace and residue of the run."""
    for phase in case.evidence.record.phases:
        if phase.end_us is not None:
            seconds = (phase.end_us - phase.start_us) / US_PER_SECOND
            yield Information(f"{phase.name} time", f"{seconds:,.1f} s")
    binds = Counter(row.bound_us // US_PER_SECOND for row in case.evidence.requests if row.bound_us is not None)
    if binds:
        yield Information("peak bind rate", f"{max(binds.values()):,} per second")
    rows = case.cycles(case.soak)
    if rows:
        intervals = [(b.at_us - a.at_us) / US_PER_SECOND for a, b in pairwise(rows)]
        if intervals:
            middle = Spread.of((i, i) for i in intervals).quantile(0.5).low
            yield Information("cycle interval", f"{middle:.2f} s in the middle")
        yield Information("machines in flight", f"{min(row.in_flight for row in rows):,} at the least")
        yield Information("Configured", f"{rows[0].configured:,} at soak start, {rows[-1].configured:,} at its end")
        aged = max(row.oldest_shortfall_cycles for row in rows)
        yield Information("oldest shortfall", f"{aged:,} cycles")
        contrary = sum(row.reclaims_of_unsatisfied for row in rows)
        yield Information("reclaims that an unsatisfied Need could have used", f"{contrary:,}")
    evicted = sum(row.cause == "evicted" for row in case.evidence.requests)
    yield Information("evicted Pods", f"{evicted:,}")
    yield Information("settle adequacy", settle_adequacy(*_halves(case)))


def _halves(case: Case) -> tuple[int, int]:
    middle = (case.settled.start_us + case.settled.end_us) // 2
    instants = [r.at_us for r in case.evidence.actions if r.kind == "Reclaim" and case.settled.holds(r.at_us)]
    return sum(at < middle for at in instants), sum(at >= middle for at in instants)


def settle_adequacy(first: int, second: int) -> str:
    """Compare the reclaims of the settled window's halves by an exact binomial test."""
    total = first + second
    if total < _ENOUGH:
        return f"{first} then {second} reclaims: too few to tell"
    extreme = max(first, second)
    # Each term follows from the one before: tens of thousands of binomials one by one would take minutes.
    term = tail = comb(total, extreme)
    for k in range(extreme, total):
        term = term * (total - k) // (k + 1)
        tail += term
    chance = min(1.0, 2 * tail / 2**total)
    word = "still settling" if chance < _SIGNIFICANT and first > second else "level"
    return f"{first} then {second} reclaims: {word} (p = {chance:.3f})"
