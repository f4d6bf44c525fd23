"""Gates on the action ledger: reclaims that were regretted, and acquisitions for every loss."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

from scaletest.evidence import ActionRow, Series
from scaletest.gates.case import Case, Span
from scaletest.gates.counters import count_between, is_run
from scaletest.gates.counts import ledger_doubt
from scaletest.gates.outcomes import Bracket, GateResult, Outcome
from scaletest.gates.results import not_applicable, result, unmeasured
from scaletest.plan.gates import Gate

__all__ = ["acquisitions_per_loss", "regretted"]

_HORIZON_US: Final = 120_000_000
_ACQUIRE: Final = ("Bootstrap", "Provision")

Key = tuple[int, str, str]


def regretted(case: Case, gate: Gate) -> GateResult:
    """Judge reclaims that were followed within two minutes by an acquisition for the same demand.

    Matched one to one, less what planned growth and losses of that demand explain. Reclaims too late to be followed
    up are left out and said.
    """
    if doubt := _gap(case) or _cut_short(case) or _doubtful_events(case):
        return unmeasured(case, gate, doubt)
    reclaims = _rows(case, ("Reclaim",), case.settled)
    acquired = _rows(case, _ACQUIRE, Span(case.settled.start_us, case.end_us))
    followed = [row for row in reclaims if row.at_us + _HORIZON_US <= _last_scrape_us(case)]
    number = (_matched(followed, acquired) - _excuses(case)).total()
    outcome = Outcome.PASS if number <= float(gate.threshold) else Outcome.FAIL
    machine_minutes = sum(row.configured for row in case.cycles(case.settled)) / max(1, len(case.cycles(case.settled)))
    machine_minutes *= (case.settled.end_us - case.settled.start_us) / 60_000_000
    details = [
        ("too late to follow up", f"{len(reclaims) - len(followed):,}"),
        ("acquired, then reclaimed", f"{_matched(acquired, reclaims).total():,}"),
        ("per 1,000 machine-minutes", f"{1000 * number / machine_minutes:.3f}" if machine_minutes else "-"),
    ]
    return result(
        case,
        gate,
        outcome,
        reason=f"{number:,} of {len(followed):,} reclaims were regretted",
        value=Bracket(number, number),
        samples=len(followed),
        look_at="actions ledger: pairs of Reclaim and acquisition of one Need",
        details=details,
    )


def acquisitions_per_loss(case: Case, gate: Gate) -> GateResult:
    """Judge how many machines are acquired for every machine lost."""
    if doubt := _gap(case) or _doubtful_events(case):
        return unmeasured(case, gate, doubt)
    losses = sum(e.number for e in case.evidence.events if e.kind == "loss" and case.settled.holds(e.at_us))
    if not losses and gate.expected_samples:
        return unmeasured(case, gate, f"no machine was lost where the plan expects {gate.expected_samples:,}")
    if not losses:
        return not_applicable(case, gate, "no machine was lost")
    acquired = len(_rows(case, _ACQUIRE, case.settled))
    rate = acquired / losses
    outcome = Outcome.PASS if rate <= float(gate.threshold) else Outcome.FAIL
    reason = f"{acquired:,} acquisitions for {losses:,} losses"
    look = "actions ledger: acquisitions beyond the first after a loss, with their reasons"
    return result(case, gate, outcome, reason=reason, value=Bracket(rate, rate), samples=losses, look_at=look)


def _matched(first: Sequence[ActionRow], then: Sequence[ActionRow]) -> "Counter[Key]":
    """Return, by demand, how many actions are followed within the horizon by one of the others, one to one."""
    waiting: dict[Key, list[int]] = {}
    for row in then:
        waiting.setdefault(_key(row), []).append(row.at_us)
    number: Counter[Key] = Counter()
    for row in first:
        later = waiting.get(_key(row), [])
        match = next((at for at in later if row.at_us < at <= row.at_us + _HORIZON_US), None)
        if match is not None:
            later.remove(match)
            number[_key(row)] += 1
    return number


def _excuses(case: Case) -> "Counter[Key]":
    """Return, by demand, the acquisitions that planned growth and losses explain."""
    number: Counter[Key] = Counter()
    for event in case.evidence.events:
        if event.kind in {"loss", "growth"} and event.at_us >= case.settled.start_us:
            number[event.cluster, event.fingerprint, event.group or event.min_unit] += event.number
    return number


def _rows(case: Case, kinds: tuple[str, ...], span: Span) -> list[ActionRow]:
    rows = [row for row in case.evidence.actions if row.kind in kinds and span.holds(row.at_us)]
    return sorted(rows, key=lambda row: (row.at_us, row.kind, row.seq))


def _key(row: ActionRow) -> Key:
    return row.cluster, row.fingerprint, row.group or row.min_unit


def _gap(case: Case) -> str:
    """Return why the ledger is not whole: it must agree with the counters, and number its rows one by one."""
    if not case.test.ledger:
        return "the engine writes no action ledger"
    for role in ("reclaimActions", "acquisitionActions"):
        count = count_between(case, role, case.settled)
        if doubt := count.doubt or ledger_doubt(case, count):
            return doubt
    kinds: dict[str, list[tuple[int, int]]] = {}
    for row in case.evidence.actions:
        kinds.setdefault(row.kind, []).append((row.seq, row.at_us))
    for kind, rows in sorted(kinds.items()):
        numbers, instants = zip(*sorted(rows), strict=True)
        if not is_run(numbers, numbers[0], numbers[-1]):
            return f"the action ledger has gaps or repeats among {kind} rows"
        if any(late < early for early, late in pairwise(instants)):
            return f"the action ledger's clock runs backwards among {kind} rows"
    return ""


def _cut_short(case: Case) -> str:
    """Return why acquisitions after the soak may be missing: their counter went further than the ledger."""
    for series in _acquisition_series(case):
        kind = series.labels.get("kind", "")
        numbers = [row.seq for row in case.evidence.actions if row.kind == kind]
        read = series.between(case.time_ms(case.settled.start_us), case.time_ms(case.end_us))
        if not all(isfinite(value) for _, value in read):
            return f"{series.name} is not a count"
        if read and read[-1][1] > max(numbers, default=read[0][1]):
            return f"the action ledger ends before its counter among {kind} rows"
    return ""


def _last_scrape_us(case: Case) -> int:
    """Return up to when the ledger is known to be whole: rows after the last scrape could be missing unseen."""
    end_ms = case.time_ms(case.end_us)
    ends = [max((t for t in s.times_ms if t <= end_ms), default=0) for s in _acquisition_series(case)]
    return (min(ends, default=0) - case.evidence.record.epoch_ms) * 1000


def _acquisition_series(case: Case) -> list[Series]:
    where = case.test.roles["acquisitionActions"]
    return case.evidence.metrics.find(where.metric, **where.labels)


def _doubtful_events(case: Case) -> str:
    """Return why events cannot excuse anything: one that is there twice excuses twice."""
    named = [event for event in case.evidence.events if event.kind == "loss" and event.machine]
    machines = {(event.at_us, event.cluster, event.machine) for event in named}
    if len(machines) < len(named) or any(event.number != 1 for event in named):
        return "a loss was recorded twice: one machine, one instant"
    return ""
