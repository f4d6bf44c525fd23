"""Whether ledgers and scrapes tell one time: a row's number says between which scrapes it was written.

Numbers alone decide what is counted, whatever the clocks say. But the marks are placed by the clocks, so a clock that
is off moves the window over other rows; each ledger then agrees with its counter and both speak of the wrong minutes.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from scaletest.evidence import Series
from scaletest.gates.case import Case
from scaletest.gates.counters import boundary
from scaletest.gates.ledger import BINDS

__all__ = ["disagreeing_clocks"]

_SLACK_US: Final = 1_000_000
_ACTIONS: Final = ("reclaimActions", "acquisitionActions", "preemptActions")


_Dated: TypeAlias = tuple[int, int, int]
"""A row: its number, and the instants between which its counter went up."""


def disagreeing_clocks(case: Case) -> Iterator[str]:
    """Yield every ledger whose rows lie on the wrong side of a boundary scrape by more than a second."""
    metrics, evidence, roles = case.evidence.metrics, case.evidence, case.test.roles
    binds = [(r.obs_seq, r.bound_us, r.bound_us) for r in evidence.requests if r.obs_seq and r.bound_us]
    if _disagrees(case, metrics.find(BINDS), binds):
        yield "request"
    if "cycleDuration" in roles:
        cycles = ((row.cycle, row.at_us, row.at_us + row.duration_us) for row in evidence.cycles)
        where = roles["cycleDuration"]
        if _disagrees(case, metrics.find(f"{where.metric}_count", **where.labels), cycles):
            yield "cycle"
    kinds = {
        kind: roles[role].metric for role in _ACTIONS if role in roles for kind in roles[role].labels.get("kind", ())
    }
    for kind, metric in sorted(kinds.items()):
        rows = ((row.seq, row.at_us, row.at_us) for row in evidence.actions if row.kind == kind)
        if _disagrees(case, metrics.find(metric, kind=(kind,)), rows):
            yield f"action ({kind})"


def _disagrees(case: Case, found: list[Series], rows: Iterable[_Dated]) -> bool:
    if len(found) != 1 or any(later < earlier for earlier, later in pairwise(found[0].values)):
        return False  # after a restart numbers begin anew, and say nothing about clocks
    dated = list(rows)
    for mark_us in (case.soak.start_us, case.settled.start_us, case.soak.end_us):
        at = boundary(case, found[0].labels.get("target", ""), mark_us)
        reading = None if at.missing else found[0].at(at.time_ms)
        if reading is None:
            continue
        scraped_us = (at.time_ms - case.evidence.record.epoch_ms) * 1000
        first, last = scraped_us - _SLACK_US, scraped_us + _SLACK_US
        if any(early > last if number <= reading else late < first for number, early, late in dated):
            return True
    return False
