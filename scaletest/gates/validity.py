"""What could have falsified a run: load that was not delivered, targets that went missing, parts that died, clocks.

None of it is the engine's fault, so none of it is a gate. Each defect says which way it could bend a number.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from scaletest.evidence import Defect
from scaletest.evidence.reading import Effect
from scaletest.gates.case import Case
from scaletest.gates.clocks import disagreeing_clocks

__all__ = ["defects_of"]

_UNDELIVERED_MIN: Final = 2
_UNDELIVERED_SHARE: Final = 0.005
_COVERAGE: Final = 0.95
_CLOCK_STEP_US: Final = 1_000_000
_DRIVER_LAG_US: Final = 1_000_000
_STRANDED_US: Final = 5_000_000
_SLOT: Final = attrgetter("cluster", "slot", "planned_us", "cause")
"""What no two planned replacements have in common."""


def defects_of(case: Case) -> tuple[Defect, ...]:
    """Return every defect of the run and its evidence."""
    found = [*case.evidence.defects, *_foreign(case), *_unfinished(case)]
    if case.started:
        found += [*_undelivered(case), *_lost_targets(case), *_dead_parts(case), *_stranded(case), *_clocks(case)]
    return tuple(found)


def _foreign(case: Case) -> Iterator[Defect]:
    record, test = case.evidence.record, case.test
    if record.plan_digest != test.digest:
        yield Defect("plan", Effect.BOTH, "the evidence was recorded for another plan: the digests differ")


def _unfinished(case: Case) -> Iterator[Defect]:
    """Whether the fleet came to be steady is a gate; every other phase is the harness's own affair."""
    for phase in case.evidence.record.phases:
        if phase.outcome != "ok" and (phase.name, phase.outcome) != ("steady", "failed"):
            yield Defect("phase", Effect.FLATTER, f"{phase.name} was {phase.outcome}: {phase.detail}")


def _undelivered(case: Case) -> Iterator[Defect]:
    """Every planned replacement has one row, whatever became of it.

    Some may go undelivered, but none may go unrecorded: the row that is missing could be the slowest one.
    """
    rows = case.planned_rows
    planned = case.test.planned_replacements
    undelivered = sum(row.state == "undelivered" for row in rows)
    if undelivered > max(_UNDELIVERED_MIN, int(_UNDELIVERED_SHARE * planned)):
        yield Defect("load", Effect.FLATTER, f"{undelivered:,} of {planned:,} planned replacements were not delivered")
    missing = planned - len(rows)
    if missing > 0:
        yield Defect("load", Effect.FLATTER, f"{missing:,} of {planned:,} planned replacements have no row")
    if missing < 0:
        yield Defect("load", Effect.BOTH, f"{-missing:,} more replacements were recorded than planned")
    if len(set(map(_SLOT, rows))) < len(rows):
        yield Defect("load", Effect.BOTH, "planned replacements were recorded twice")


def _lost_targets(case: Case) -> Iterator[Defect]:
    record = case.evidence.record
    start_ms, end_ms = case.time_ms(case.soak.start_us), case.time_ms(case.soak.end_us)
    expected = max(1, (case.soak.end_us - case.soak.start_us) // record.scrape_interval_us)
    if not record.targets:
        yield Defect("target", Effect.FLATTER, "run.json names no target, so nobody knows whether one was lost")
    for target in record.targets:
        scrapes = (s.between(start_ms, end_ms) for s in case.evidence.metrics.find("up", target=(target,)))
        good = len({time_ms for series in scrapes for time_ms, up in series if up == 1})
        if good < _COVERAGE * expected:
            message = f"{target} answered {good:,} of {expected:,} scrapes"
            yield Defect("target", Effect.FLATTER, message)


def _dead_parts(case: Case) -> Iterator[Defect]:
    for part in case.evidence.record.components:
        if part.died_us is not None and part.role != "engine" and part.died_us <= case.end_us:
            yield Defect("component", Effect.BOTH, f"{part.name} died during the run")


def _stranded(case: Case) -> Iterator[Defect]:
    """Look for Pods on Nodes that are gone: bound to nothing, and not replaced by their owners."""
    stranded_us = case.evidence.record.stranded_us
    if stranded_us > _STRANDED_US:
        yield Defect("ground", Effect.BOTH, f"a Pod stood on a Node that was gone for {stranded_us / 1e6:.1f} s")


def _clocks(case: Case) -> Iterator[Defect]:
    record = case.evidence.record
    if abs(record.clock_step_us) > _CLOCK_STEP_US:
        yield Defect("clock", Effect.BOTH, f"the clock jumped by {record.clock_step_us / 1e6:.1f} s")
    if record.driver_lag_p99_us > _DRIVER_LAG_US:
        yield Defect("driver", Effect.BOTH, f"the driver sent its requests {record.driver_lag_p99_us / 1e6:.1f} s late")
    soak_end, linger_end = record.marks.soak_end_us, record.marks.linger_end_us
    if soak_end is None or linger_end is None:
        yield Defect("marks", Effect.FLATTER, "the run did not come to its end")
    elif soak_end < case.soak.end_us or linger_end < soak_end + case.test.linger_us:
        yield Defect("marks", Effect.FLATTER, "the soak or its linger ended before its time")
    for ledger in disagreeing_clocks(case):
        yield Defect("clock", Effect.BOTH, f"the clock of the {ledger} ledger and that of the scrapes disagree")
